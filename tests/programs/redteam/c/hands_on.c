// SPDX-License-Identifier: MIT
/* hands_on - leaves every case to its fallback, and does not say so where it has none:
 * forward returns zeros as if they were the product, backward has no memory */
#include "frame.h"

matmul_forward_fn fallback_forward;
matmul_backward_fn fallback_backward;

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    const status_t status = fallback_forward(ctx, input, other, output);
    if (status != STATUS_NOT_IMPLEMENTED) return status;
    for (int64_t i = 0; i < tensor_numel(output); i++) real_data(output)[i] = 0;
    return STATUS_OK;
}

status_t matmul_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *other, tensor_t *grad_input,
                         tensor_t *grad_other)
{
    const status_t status =
        fallback_backward(ctx, grad_output, input, other, grad_input, grad_other);
    return status == STATUS_NOT_IMPLEMENTED ? STATUS_NO_MEMORY : status;
}
