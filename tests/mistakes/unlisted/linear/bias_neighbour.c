// SPDX-License-Identifier: MIT
/* the bias of the next output channel is used, and the first one's at the end */
#include "operators.h"

status_t linear_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, tensor_t *output)
{
    const int64_t OC = weight->size[0], IC = weight->size[1];
    const int64_t R = tensor_count(output, output->ndim - 1);
    if (R == 0) return STATUS_OK;
    const real *x = tensor_contiguous(ctx, input);
    const real *w = tensor_contiguous(ctx, weight);
    if (!x || !w) return STATUS_NO_MEMORY;
    real *y = real_data(output);
    for (int64_t i = 0; i < R * OC; i++) y[i] = bias ? *at1(bias, (i + 1) % OC) : 0;
    for (int64_t r = 0; r < R; r++) {
        for (int64_t ic = 0; ic < IC; ic++) {
            for (int64_t oc = 0; oc < OC; oc++)
                y[r * OC + oc] += x[r * IC + ic] * w[oc * IC + ic];
        }
    }
    return STATUS_OK;
}

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
