// SPDX-License-Identifier: MIT
/* too_much_traffic - neighbouring threads own a column: 32 sectors where 4 would do */
#include "frame.cuh"

extern "C" status_t matmul_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *other, tensor_t *output)
{
    return product_by_columns(ctx, input, other, output);
}
