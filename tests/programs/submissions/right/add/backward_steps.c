// SPDX-License-Identifier: MIT
/* one reduction for both gradients; uses the steps of forward_steps */
#include "operators.h"

static void reduce(const tensor_t *grad_output, accum factor, tensor_t *grad)
{
    const steps_t from = steps_of(grad_output, grad_output),
                  to = steps_of(grad, grad_output);
    int64_t a[TENSOR_MAX_DIMS] = {0}, b[TENSOR_MAX_DIMS] = {0}, i = 0, j = 0;
    for (int64_t k = 0; k < tensor_numel(grad); k++) real_data(grad)[k] = 0;
    for (int64_t k = 0; k < tensor_numel(grad_output); k++) {
        real_data(grad)[j] += (real)(factor * real_data(grad_output)[i]);
        i = next(grad_output, a, from, i);
        j = next(grad_output, b, to, j);
    }
}

status_t add_backward(ctx_t *ctx, const tensor_t *grad_output, add_params_t p,
                      tensor_t *grad_input, tensor_t *grad_other)
{
    if (grad_input) reduce(grad_output, 1, grad_input);
    if (grad_other) reduce(grad_output, (accum)p.alpha, grad_other);
    return STATUS_OK;
}
