// SPDX-License-Identifier: MIT
/* leak - allocates device memory and never frees it */
#include "frame.cuh"

extern "C" status_t matmul_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *other, tensor_t *output)
{
    void *mine = NULL;
    CUDA_TRY(ctx, cudaMalloc(&mine, 100));
    return product(ctx, input, other, output);
}
