// SPDX-License-Identifier: MIT
/* compile_error - a semicolon is missing */
#include "frame.h"

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    product(input, other, output)
    return STATUS_OK;
}

#include "backward.h"
