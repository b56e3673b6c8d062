// SPDX-License-Identifier: MIT
/* missing_function - misspells the function's name, and has no other */
#include "frame.h"

status_t matmul_forwards(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                         tensor_t *output)
{
    (void)ctx;
    product(input, other, output);
    return STATUS_OK;
}
