// SPDX-License-Identifier: MIT
/* wrong_type - declares matmul_forward to return its output instead of a status */
#include "frame.h"

tensor_t *matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                         tensor_t *output)
{
    (void)ctx;
    product(input, other, output);
    return output;
}

#include "backward.h"
