// SPDX-License-Identifier: MIT
/* dense copies, and one loop for all three gradients */
#include "operators.h"

static void fill_with_zeros(tensor_t *t)
{
    for (int64_t i = 0; t && i < tensor_numel(t); i++) real_data(t)[i] = 0;
}

status_t linear_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *weight, tensor_t *grad_input,
                         tensor_t *grad_weight, tensor_t *grad_bias)
{
    const int64_t OC = weight->size[0], IC = weight->size[1];
    const int64_t R = tensor_count(grad_output, grad_output->ndim - 1);
    fill_with_zeros(grad_input);
    fill_with_zeros(grad_weight);
    fill_with_zeros(grad_bias);
    if (R == 0) return STATUS_OK;
    const real *g = tensor_contiguous(ctx, grad_output);
    const real *x = tensor_contiguous(ctx, input), *w = tensor_contiguous(ctx, weight);
    if (!g || !x || !w) return STATUS_NO_MEMORY;
    for (int64_t r = 0; r < R; r++) {
        for (int64_t oc = 0; oc < OC; oc++) {
            const real grad = g[r * OC + oc];
            if (grad_bias) real_data(grad_bias)[oc] += grad;
            for (int64_t ic = 0; ic < IC; ic++) {
                if (grad_input)
                    real_data(grad_input)[r * IC + ic] += grad * w[oc * IC + ic];
                if (grad_weight)
                    real_data(grad_weight)[oc * IC + ic] += grad * x[r * IC + ic];
            }
        }
    }
    return STATUS_OK;
}
