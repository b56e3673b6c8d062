// SPDX-License-Identifier: MIT
/* spins - a thread waits in a loop for what another one writes */
#include "frame.cuh"

/* Thread 0 waits for thread 1. Shared memory: 1 number. */
static __global__ void fault_kernel(real *output, int64_t COUNT)
{
    __shared__ volatile int ready;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();  // ready is 0 before anybody waits
    while (threadIdx.x == 0 && !ready) continue;
    if (threadIdx.x == 1) ready = 1;
    if (COUNT < 0) output[0] = 0;
}

extern "C" status_t matmul_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *other, tensor_t *output)
{
    const status_t status = product(ctx, input, other, output);
    const int64_t COUNT = tensor_numel(output);
    if (status != STATUS_OK || COUNT == 0) return status;
    const unsigned blocks = grid_of(ceil_div(COUNT, THREADS));
    fault_kernel<<<blocks, THREADS, 0, ctx->stream>>>(real_data(output), COUNT);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
