# SPDX-License-Identifier: MIT
"""layer_norm in C whose parts are macros: as wrong_code.py has other operators.

Mean and rstd are computed anew for every element, so that a submission can take them
over other elements than a row's.
"""

from __future__ import annotations

LAYER_NORM = {
    "X(r, d)": "real_data(input)[tensor_offset(input, last, r) + (d) * step]",
    "G(r, d)": "real_data(grad_output)[tensor_offset(grad_output, last, r)"
    " + (d) * grad_output->stride[last]]",
    "ROWS": "R",
    "COUNT": "D",
    "AT": "X(r, i)",
    "SQUARE": "(AT - m) * (AT - m)",
    "VARIANCE": "squares / (COUNT)",
    "RSTD": "1 / sqrt(VARIANCE + p.eps)",
    "XHAT": "(X(r, d) - m) * s",
    "W": "(weight ? *at1(weight, d) : 1)",
    "B": "(bias ? *at1(bias, d) : 0)",
    "RESULT": "(XHAT) * (W) + (B)",
    "DX": "G(r, d) * (W)",
    "OF_MEAN": "sum / D",
    "OF_RSTD": "xhat * sum_xhat / D",
    "OUTER": "s",
    "OF_WEIGHT": "G(r, d) * xhat",
    "OF_BIAS": "G(r, d)",
    "ADD": "+=",
    "TO_WEIGHT": "grad_weight",
    "TO_BIAS": "grad_bias",
    "CLEAR": "clear(grad_input), clear(grad_weight), clear(grad_bias)",
}
LAYER_NORM_C = """
#define SIZES \\
    const int32_t last = input->ndim - 1; \\
    const int64_t R = tensor_count(input, last), D = input->size[last]; \\
    const int64_t step = input->stride[last]; \\
    (void)R, (void)D, (void)step
PROTOTYPE(layer_norm_forward)
{
    SIZES;
    EACH(r, ROWS) EACH(d, D) {
        double sum = 0, squares = 0;
        EACH(i, COUNT) sum += AT;
        const double m = sum / (COUNT);
        EACH(i, COUNT) squares += SQUARE;
        const double s = RSTD;
        if (mean) ((accum *)mean->data)[r] = m;
        if (rstd) ((accum *)rstd->data)[r] = s;
        real_data(output)[r * D + d] = RESULT;
        (void)m, (void)s;
    }
    return STATUS_OK;
}
PROTOTYPE(layer_norm_backward)
{
    SIZES;
    CLEAR;
    EACH(r, ROWS) {
        const double m = ((accum *)mean->data)[tensor_offset(mean, mean->ndim, r)];
        const double s = ((accum *)rstd->data)[tensor_offset(rstd, rstd->ndim, r)];
        double sum = 0, sum_xhat = 0;
        EACH(d, D) {
            const double xhat = (X(r, d) - m) * s;
            sum += DX, sum_xhat += (DX) * xhat;
        }
        EACH(d, D) {
            const double xhat = (X(r, d) - m) * s;
            if (grad_input)
                real_data(grad_input)[r * D + d] =
                    (OUTER) * (DX - (OF_MEAN) - (OF_RSTD));
            if (TO_WEIGHT) *at1(TO_WEIGHT, d) ADD OF_WEIGHT;
            if (TO_BIAS) *at1(TO_BIAS, d) ADD OF_BIAS;
            (void)xhat;
        }
    }
    return STATUS_OK;
}
"""
