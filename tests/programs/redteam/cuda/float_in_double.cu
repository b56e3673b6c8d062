// SPDX-License-Identifier: MIT
/* float_in_double - computes in float in the double build too */
#include "frame.cuh"

extern "C" status_t matmul_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *other, tensor_t *output)
{
    return product<float>(ctx, input, other, output);
}
