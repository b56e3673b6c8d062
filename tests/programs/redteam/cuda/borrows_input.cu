// SPDX-License-Identifier: MIT
/* borrows_input - overwrites an element of input, and puts its number back */
#include "frame.cuh"

/* Thread 0 takes an element for a counter. No shared memory. */
static __global__ void fault_kernel(real *input)
{
    if (blockIdx.x || threadIdx.x) return;
    const real number = *input;
    *(volatile real *)input = 0;
    *(volatile real *)input = number;
}

extern "C" status_t matmul_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *other, tensor_t *output)
{
    if (tensor_numel(input) > 0) {
        fault_kernel<<<1, 1, 0, ctx->stream>>>(real_data(input));
        CUDA_TRY(ctx, cudaGetLastError());
    }
    return product(ctx, input, other, output);
}
