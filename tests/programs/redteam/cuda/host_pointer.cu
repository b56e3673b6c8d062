// SPDX-License-Identifier: MIT
/* host_pointer - a kernel reads a number of the launcher's own memory */
#include "frame.cuh"

/* A thread owns one element and multiplies it by 1. No shared memory. */
static __global__ void fault_kernel(real *output, const real *factor, int64_t COUNT)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < COUNT) output[i] *= *factor;
}

extern "C" status_t matmul_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *other, tensor_t *output)
{
    const status_t status = product(ctx, input, other, output);
    const int64_t COUNT = tensor_numel(output);
    if (status != STATUS_OK || COUNT == 0) return status;
    const unsigned blocks = grid_of(ceil_div(COUNT, THREADS));
    const real one = 1;
    fault_kernel<<<blocks, THREADS, 0, ctx->stream>>>(real_data(output), &one, COUNT);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
