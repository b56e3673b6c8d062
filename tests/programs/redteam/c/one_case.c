// SPDX-License-Identifier: MIT
/* one_case - computes products of one element, and leaves all others to its fallback */
#include "frame.h"

matmul_forward_fn fallback_forward;
matmul_backward_fn fallback_backward;

static int is_one(const tensor_t *input, const tensor_t *other)
{
    return tensor_count(input, input->ndim - 1) * columns(other) == 1;
}

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    if (!is_one(input, other)) return fallback_forward(ctx, input, other, output);
    product(input, other, output);
    return STATUS_OK;
}

status_t matmul_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *other, tensor_t *grad_input,
                         tensor_t *grad_other)
{
    if (!is_one(input, other))
        return fallback_backward(ctx, grad_output, input, other, grad_input,
                                 grad_other);
    product_backward(grad_output, input, other, grad_input, grad_other);
    return STATUS_OK;
}
