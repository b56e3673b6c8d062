// SPDX-License-Identifier: MIT
/* backward_transposed - fills grad_other with its transpose: grad_output^T @ input */
#include "frame.h"
#include "forward.h"

status_t matmul_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *other, tensor_t *grad_input,
                         tensor_t *grad_other)
{
    (void)ctx;
    product_backward(grad_output, input, other, grad_input, NULL);
    if (!grad_other) return STATUS_OK;
    const tensor_t grad_output_t = transposed(grad_output);
    tensor_t wrong = transposed(grad_other);  // (..., N, K)
    product(&grad_output_t, input, &wrong);
    return STATUS_OK;
}
