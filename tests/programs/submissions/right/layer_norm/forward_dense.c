// SPDX-License-Identifier: MIT
/* dense copies, and the normalised row in output before it is scaled */
#include "operators.h"

static void scale_row(real *y, int64_t n, const tensor_t *weight, const tensor_t *bias)
{
    for (int64_t d = 0; d < n; d++) {
        if (weight) y[d] = y[d] * *at1(weight, d);
        if (bias) y[d] = y[d] + *at1(bias, d);
    }
}

status_t layer_norm_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                            const tensor_t *bias, layer_norm_params_t p,
                            tensor_t *output, tensor_t *mean, tensor_t *rstd)
{
    const int64_t n = input->size[input->ndim - 1], total = tensor_numel(input);
    if (total == 0) return STATUS_OK;
    const real *x = tensor_contiguous(ctx, input);
    if (!x) return STATUS_NO_MEMORY;
    real *y = real_data(output);
    for (int64_t begin = 0; begin < total; begin += n) {
        accum m = 0, v = 0;
        for (int64_t i = begin; i < begin + n; i++) m += x[i];
        m /= (accum)n;
        for (int64_t i = begin; i < begin + n; i++) v += (x[i] - m) * (x[i] - m);
        const accum root = real_sqrt(v / (accum)n + (accum)p.eps);
        if (mean) ((accum *)mean->data)[begin / n] = m;
        if (rstd) ((accum *)rstd->data)[begin / n] = 1 / root;
        for (int64_t i = begin; i < begin + n; i++) y[i] = (real)((x[i] - m) / root);
        scale_row(y + begin, n, weight, bias);
    }
    return STATUS_OK;
}
