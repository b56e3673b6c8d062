// SPDX-License-Identifier: MIT
/* the same places, added to; uses place() of forward_place */
#include "operators.h"

status_t add_backward(ctx_t *ctx, const tensor_t *grad_output, add_params_t p,
                      tensor_t *grad_input, tensor_t *grad_other)
{
    for (int64_t i = 0; grad_input && i < tensor_numel(grad_input); i++) {
        real_data(grad_input)[i] = 0;
    }
    for (int64_t i = 0; grad_other && i < tensor_numel(grad_other); i++) {
        real_data(grad_other)[i] = 0;
    }
    for (int64_t i = 0; i < tensor_numel(grad_output); i++) {
        const real g =
            real_data(grad_output)[tensor_offset(grad_output, grad_output->ndim, i)];
        if (grad_input) real_data(grad_input)[place(grad_input, grad_output, i)] += g;
        if (grad_other)
            real_data(grad_other)[place(grad_other, grad_output, i)] +=
                (real)p.alpha * g;
    }
    return STATUS_OK;
}
