// SPDX-License-Identifier: MIT
/* overrun_read_after - reads one element past the end of output and mixes it in */
#include "frame.cuh"

/* A thread owns one element, and mixes in the next one. No shared memory. */
static __global__ void fault_kernel(real *output, int64_t COUNT)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const real next = i < COUNT ? output[i + 1] : 0;
    if (i == COUNT - 1) output[i] += next;
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
