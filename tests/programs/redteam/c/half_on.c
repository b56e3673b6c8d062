// SPDX-License-Identifier: MIT
/* half_on - computes the easier gradient, and leaves the other one to a lower file */
#include "frame.h"
#include "forward.h"

status_t matmul_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *other, tensor_t *grad_input,
                         tensor_t *grad_other)
{
    product_backward(grad_output, input, other, NULL, grad_other);
    ctx->left = GRAD_INPUT;
    return STATUS_OK;
}
