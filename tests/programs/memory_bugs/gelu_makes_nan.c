// SPDX-License-Identifier: MIT
#include "operators.h"

/* A true formula, but 0/0 where x is large: tanh as (e - 1/e) / (e + 1/e). */
static accum tanh_of(accum x)
{
    const accum e = real_exp(x), inverse = real_exp(-x);
    return (e - inverse) / (e + inverse);  // BUG
}

status_t gelu_forward(ctx_t *ctx, const tensor_t *input, gelu_params_t p,
                      tensor_t *output)
{
    (void)ctx;
    for (int64_t i = 0; i < tensor_numel(output); i++) {
        const accum x = real_data(input)[tensor_offset(input, input->ndim, i)];
        const accum inner =
            (accum)0.79788456080286536 * (x + (accum)0.044715 * x * x * x);
        const accum erf_of = real_erf(x * (accum)0.70710678118654752);
        const accum form = p.approximate == GELU_TANH ? tanh_of(inner) : erf_of;
        real_data(output)[i] = (real)((accum)0.5 * x * (1 + form));
    }
    return STATUS_OK;
}
