// SPDX-License-Identifier: MIT
/* a loop for each form */
#include "operators.h"

status_t gelu_forward(ctx_t *ctx, const tensor_t *input, gelu_params_t p,
                      tensor_t *output)
{
    real *y = real_data(output);
    if (p.approximate == GELU_NONE) {
        for (int64_t i = 0; i < tensor_numel(input); i++) {
            const accum x = real_data(input)[tensor_offset(input, input->ndim, i)];
            y[i] = x / 2 * (1 + real_erf(x * (accum)0.70710678118654752440));
        }
        return STATUS_OK;
    }
    for (int64_t i = 0; i < tensor_numel(input); i++) {
        const accum x = real_data(input)[tensor_offset(input, input->ndim, i)];
        const accum k = (accum)0.79788456080286535588, c = (accum)0.044715;
        y[i] = x / 2 * (1 + real_tanh(k * x * (1 + c * x * x)));
    }
    return STATUS_OK;
}
