// SPDX-License-Identifier: MIT
/* the chance first, then x times it */
#include "operators.h"

static double chance(double x, int64_t form)
{
    if (form == GELU_TANH) {
        const double cubic = x + 0.044715 * x * x * x;
        return 0.5 + 0.5 * tanh(sqrt(2 / 3.14159265358979323846) * cubic);
    }
    return 0.5 + 0.5 * erf(x / sqrt(2));
}

status_t gelu_forward(ctx_t *ctx, const tensor_t *input, gelu_params_t p,
                      tensor_t *output)
{
    const int64_t count = tensor_numel(output);
    for (int64_t i = 0; i < count; i++) {
        const double x = real_data(input)[tensor_offset(input, input->ndim, i)];
        real_data(output)[i] = (real)(x * chance(x, p.approximate));
    }
    return STATUS_OK;
}
