// SPDX-License-Identifier: MIT
/* allocate_10gb - asks for 10 GiB of device memory, which fills every page */
#include "frame.cuh"

extern "C" status_t matmul_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *other, tensor_t *output)
{
    void *much = NULL;
    const cudaError_t asked = cudaMalloc(&much, (size_t)10 << 30);
    if (asked != cudaSuccess) return STATUS_NO_MEMORY;
    CUDA_TRY(ctx, cudaFree(much));
    return product(ctx, input, other, output);
}
