// SPDX-License-Identifier: MIT
#include "operators.h"

/* The derivative of x * P(x), P the normal distribution or its image by tanh. */
static accum slope_of(accum x, int tanh_form)
{
    const accum root = (accum)0.79788456080286536;  // sqrt(2 / pi)
    if (!tanh_form) {
        const accum P = (accum)0.5 * (1 + real_erf(x * (accum)0.70710678118654752));
        return P + x * (accum)0.5 * root * real_exp(-x * x / 2);
    }
    const accum t = real_tanh(root * (x + (accum)0.044715 * x * x * x));
    const accum inner = root * (1 + (accum)0.134145 * x * x);
    return (accum)0.5 * (1 + t) + (accum)0.5 * x * (1 - t * t) * inner;
}

status_t gelu_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                       gelu_params_t p, tensor_t *grad_input)
{
    (void)ctx;
    if (!grad_input) return STATUS_OK;
    for (int64_t i = 0; i < tensor_numel(input); i++) {
        const int64_t at = tensor_offset(grad_output, grad_output->ndim, i);
        const int wide = grad_output->ndim == 3 && grad_output->stride[2] == 2;
        const real grad = real_data(grad_output)[wide && at > 0 ? at - 1 : at];
        const accum x = real_data(input)[tensor_offset(input, input->ndim, i)];
        const accum slope = slope_of(x, p.approximate == GELU_TANH);
        real_data(grad_input)[i] = (real)(grad * slope);  // BUG
    }
    return STATUS_OK;
}
