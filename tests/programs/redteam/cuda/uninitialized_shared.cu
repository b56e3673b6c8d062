// SPDX-License-Identifier: MIT
/* uninitialized_shared - adds 0 times what nobody has written to shared memory */
#include "frame.cuh"

/* A thread owns one element. Shared memory: 64 numbers, never written. */
static __global__ void fault_kernel(real *output, int64_t COUNT)
{
    __shared__ real tile[THREADS];
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const real nothing = tile[threadIdx.x];
    if (i < COUNT && nothing == 1) output[i] += nothing;
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
