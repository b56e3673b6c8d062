// SPDX-License-Identifier: MIT
/* hands_on - leaves every case to a lower file, and every gradient with it; backward
 * says OK all the same */
#include "frame.h"

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    return STATUS_UNSUPPORTED;
}

status_t matmul_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *other, tensor_t *grad_input,
                         tensor_t *grad_other)
{
    ctx->left = GRAD_INPUT | GRAD_OTHER;
    return STATUS_OK;
}
