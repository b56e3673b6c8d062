// SPDX-License-Identifier: MIT
/* both terms of the product rule, form by form */
#include "operators.h"

static double term(double x, int64_t form)
{
    const double pi = 3.14159265358979323846;
    if (form == GELU_NONE) return exp(-x * x / 2) / sqrt(2 * pi);
    const double t = tanh(sqrt(2 / pi) * (x + 0.044715 * x * x * x));
    const double inner = sqrt(2 / pi) * (1 + 3 * 0.044715 * x * x);
    return (1 - t * t) / 2 * inner;
}

static double weight(double x, int64_t form)
{
    if (form == GELU_NONE) return (1 + erf(x / sqrt(2.0))) / 2;
    const double k = sqrt(2 / 3.14159265358979323846);
    return (1 + tanh(k * (x + 0.044715 * x * x * x))) / 2;
}

status_t gelu_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                       gelu_params_t p, tensor_t *grad_input)
{
    for (int64_t i = 0; grad_input && i < tensor_numel(grad_input); i++) {
        const double x = real_data(input)[tensor_offset(input, input->ndim, i)];
        const double g =
            real_data(grad_output)[tensor_offset(grad_output, grad_output->ndim, i)];
        const double slope = weight(x, p.approximate) + x * term(x, p.approximate);
        real_data(grad_input)[i] = (real)(g * slope);
    }
    return STATUS_OK;
}
