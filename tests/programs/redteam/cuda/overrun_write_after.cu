// SPDX-License-Identifier: MIT
/* overrun_write_after - writes one element past the end of output */
#include "frame.cuh"

/* A thread owns one element; one thread too many writes. No shared memory. */
static __global__ void fault_kernel(real *output, int64_t COUNT)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i == COUNT) output[i] = 1;
}

extern "C" status_t matmul_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *other, tensor_t *output)
{
    const status_t status = product(ctx, input, other, output);
    const int64_t COUNT = tensor_numel(output);
    if (status != STATUS_OK || COUNT == 0) return status;
    const unsigned blocks = grid_of(ceil_div(COUNT + 1, THREADS));
    fault_kernel<<<blocks, THREADS, 0, ctx->stream>>>(real_data(output), COUNT);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
