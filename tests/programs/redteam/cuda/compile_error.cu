// SPDX-License-Identifier: MIT
/* compile_error - a syntax error */
#include "frame.cuh"

extern "C" status_t matmul_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *other, tensor_t *output)
{
    return product(ctx, input, other output);
}
