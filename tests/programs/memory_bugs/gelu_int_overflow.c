// SPDX-License-Identifier: MIT
#include "operators.h"

static accum gelu_of(accum x, int tanh_form)
{
    const accum inner = (accum)0.79788456080286536 * (x + (accum)0.044715 * x * x * x);
    return tanh_form ? (accum)0.5 * x * (1 + real_tanh(inner))
                     : (accum)0.5 * x * (1 + real_erf(x * (accum)0.70710678118654752));
}

status_t gelu_forward(ctx_t *ctx, const tensor_t *input, gelu_params_t p,
                      tensor_t *output)
{
    (void)ctx;
    const int64_t COUNT = tensor_numel(input);
    const int tanh_form = p.approximate == GELU_TANH;
    real *y = real_data(output);
    for (int64_t i = 0; i < COUNT; i++) {
        const int32_t far = ((int32_t)i + 1) * 65536 * 32767;  // BUG
        const accum x = real_data(input)[tensor_offset(input, input->ndim, i)];
        y[i] = (real)gelu_of(far ? x : x, tanh_form);
    }
    return STATUS_OK;
}
