// SPDX-License-Identifier: MIT
/* backward_1e5 - makes grad_other too large by a factor of 1.00001 */
#include "frame.h"
#include "forward.h"

status_t matmul_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *other, tensor_t *grad_input,
                         tensor_t *grad_other)
{
    (void)ctx;
    product_backward(grad_output, input, other, grad_input, grad_other);
    const int64_t COUNT = grad_other ? tensor_numel(grad_other) : 0;
    for (int64_t i = 0; i < COUNT; i++) real_data(grad_other)[i] *= (real)1.00001;
    return STATUS_OK;
}
