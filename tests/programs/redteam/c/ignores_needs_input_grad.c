// SPDX-License-Identifier: MIT
/* ignores_needs_input_grad - computes both gradients, wanted or NULL */
#include "frame.h"
#include "forward.h"

status_t matmul_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *other, tensor_t *grad_input,
                         tensor_t *grad_other)
{
    (void)ctx;
    const tensor_t input_t = transposed(input), other_t = transposed(other);
    product(grad_output, &other_t, grad_input);
    product(&input_t, grad_output, grad_other);
    return STATUS_OK;
}
