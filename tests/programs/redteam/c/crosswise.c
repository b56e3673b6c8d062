// SPDX-License-Identifier: MIT
/* crosswise - leaves each direction to the other one's fallback, which multiplies too:
 * forward is the gradient of another product, backward two products */
#include "frame.h"

matmul_forward_fn fallback_forward;
matmul_backward_fn fallback_backward;

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    const tensor_t other_t = transposed(other);  // grad_output @ other_t^T is wanted
    return fallback_backward(ctx, input, output, &other_t, output, NULL);
}

status_t matmul_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *other, tensor_t *grad_input,
                         tensor_t *grad_other)
{
    const tensor_t input_t = transposed(input), other_t = transposed(other);
    status_t status = STATUS_OK;
    if (grad_input) status = fallback_forward(ctx, grad_output, &other_t, grad_input);
    if (status != STATUS_OK || !grad_other) return status;
    return fallback_forward(ctx, &input_t, grad_output, grad_other);
}
