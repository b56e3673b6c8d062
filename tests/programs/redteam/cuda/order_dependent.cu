// SPDX-License-Identifier: MIT
/* order_dependent - the last thread that runs decides: right in one order alone */
#include "frame.cuh"

/* Every thread writes its number; the last one should win. No shared memory. */
static __global__ void fault_kernel(real *output, real *word)
{
    word[0] = threadIdx.x;
    __syncthreads();  // all have written before one of them reads
    if (threadIdx.x == 0) output[0] *= word[0] == THREADS - 1 ? 1 : 2;
}

extern "C" status_t matmul_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *other, tensor_t *output)
{
    const status_t status = product(ctx, input, other, output);
    const int64_t COUNT = tensor_numel(output);
    if (status != STATUS_OK || COUNT == 0) return status;
    real *word = (real *)ctx_scratch(ctx, sizeof(real));
    if (!word) return STATUS_NO_MEMORY;
    fault_kernel<<<1, THREADS, 0, ctx->stream>>>(real_data(output), word);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
