// SPDX-License-Identifier: MIT
/* says_escapes - the same in the sentence that it returns with a status */
#include "frame.h"
#include <stdio.h>

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    product(input, other, output);
    snprintf(ctx->error, sizeof ctx->error, "\033]0;owned\007\033[2J\xe2\x80\xae");
    return STATUS_INVALID_ARGUMENT;
}

#include "backward.h"
