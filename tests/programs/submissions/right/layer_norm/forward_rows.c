// SPDX-License-Identifier: MIT
/* a row of sums after the other, by strides */
#include "operators.h"

status_t layer_norm_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                            const tensor_t *bias, layer_norm_params_t p,
                            tensor_t *output, tensor_t *mean, tensor_t *rstd)
{
    const int32_t last = input->ndim - 1;
    const int64_t rows = tensor_count(input, last), n = input->size[last];
    for (int64_t r = 0; r < rows; r++) {
        const real *x = real_data(input) + tensor_offset(input, last, r);
        const int64_t xs = input->stride[last];
        accum average = 0, spread = 0;
        for (int64_t d = 0; d < n; d++) average += x[d * xs] / (accum)n;
        for (int64_t d = 0; d < n; d++) {
            const accum off = x[d * xs] - average;
            spread += off * off;
        }
        const accum scale = 1 / real_sqrt(spread / (accum)n + (accum)p.eps);
        if (mean) ((accum *)mean->data)[r] = average;
        if (rstd) ((accum *)rstd->data)[r] = scale;
        for (int64_t d = 0; d < n; d++) {
            accum y = (x[d * xs] - average) * scale;
            if (weight) y *= *at1(weight, d);
            if (bias) y += *at1(bias, d);
            real_data(output)[r * n + d] = (real)y;
        }
    }
    return STATUS_OK;
}
