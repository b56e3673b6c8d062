// SPDX-License-Identifier: MIT
/* forgotten_elements - never writes the last row of each matrix */
#include "frame.cuh"

extern "C" status_t matmul_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *other, tensor_t *output)
{
    tensor_t most = *output;
    most.size[most.ndim - 2]--;
    return product(ctx, input, other, &most);
}
