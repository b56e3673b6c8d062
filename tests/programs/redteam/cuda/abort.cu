// SPDX-License-Identifier: MIT
/* abort - a thread of a kernel calls __trap */
#include "frame.cuh"

/* Thread 0 gives up. No shared memory. */
static __global__ void fault_kernel(real *output, int64_t COUNT)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) __trap();
    if (i < COUNT) output[i] += 0;
}

extern "C" status_t matmul_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *other, tensor_t *output)
{
    const status_t status = product(ctx, input, other, output);
    const int64_t COUNT = tensor_numel(output);
    if (status != STATUS_OK || COUNT == 0) return status;
    fault_kernel<<<blocks_of(output), THREADS, 0, ctx->stream>>>(real_data(output),
                                                                 COUNT);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
