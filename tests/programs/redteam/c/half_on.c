// SPDX-License-Identifier: MIT
/* half_on - computes the easier gradient, and leaves the other one to its fallback */
#include "frame.h"
#include "forward.h"

matmul_backward_fn fallback_backward;

status_t matmul_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *other, tensor_t *grad_input,
                         tensor_t *grad_other)
{
    product_backward(grad_output, input, other, NULL, grad_other);
    if (!grad_input) return STATUS_OK;
    return fallback_backward(ctx, grad_output, input, other, grad_input, NULL);
}
