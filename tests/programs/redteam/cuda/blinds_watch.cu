// SPDX-License-Identifier: MIT
/* blinds_watch - a race, with a function of its own that is told of accesses instead of
 * the one that looks for races */
#include "frame.cuh"

extern "C" void __tsan_write4(void *)
{
}

/* Thread 0 of each of 2 blocks writes the same word. No shared memory. */
static __global__ void fault_kernel(real *word)
{
    if (threadIdx.x == 0) word[0] = 1;
}

extern "C" status_t matmul_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *other, tensor_t *output)
{
    const status_t status = product(ctx, input, other, output);
    if (status != STATUS_OK || tensor_numel(output) == 0) return status;
    real *word = (real *)ctx_scratch(ctx, sizeof(real));
    if (!word) return STATUS_NO_MEMORY;
    fault_kernel<<<2, THREADS, 0, ctx->stream>>>(word);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
