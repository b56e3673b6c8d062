# SPDX-License-Identifier: MIT
"""lltm in C whose parts are macros, for wrong_code.py."""

from __future__ import annotations

LLTM = {
    "I": "0",  # which block of rows a gate has
    "O": "1",
    "G": "2",
    "H_AT": "k",  # the columns of weight that h and input meet
    "IN_AT": "H + k",
    "START": "*at1(bias, row)",
    "OLD": "*at2(c, n, j)",
    "ACT_I": "1 / (1 + exp(-x))",
    "ACT_O": "1 / (1 + exp(-x))",
    "ACT_G": "x > 0 ? x : exp(x) - 1",
    "SQUASH": "tanh(x)",
    "SLOPE_I": "i * (1 - i)",
    "SLOPE_O": "o * (1 - o)",
    "SLOPE_G": "g > 0 ? 1 : g + 1",
    "SLOPE_T": "1 - t * t",
    "FROM_C": "*at2(grad_new_c, n, j)",
    "FROM_H": "*at2(grad_new_h, n, j) * o * (SLOPE_T)",
    "GIVE_C": "of_c",
    "BACK_I": "I",
    "BACK_O": "O",
    "BACK_G": "G",
    "BACK_H_AT": "H_AT",
    "BACK_IN_AT": "IN_AT",
    "SHARE": "1",
    "CLEAR": "clear(grad_input), clear(grad_weight), clear(grad_bias), clear(grad_h)",
    "IN": "*at2(input, n, k)",
    "STATE": "*at2(h, n, k)",
}
LLTM_C = """
static accum before(const tensor_t *input, const tensor_t *weight, const tensor_t *bias,
                    const tensor_t *h, int64_t n, int64_t row)
{
    const int64_t H = h->size[1], IC = input->size[1];
    accum sum = START;
    EACH(k, H) sum += *at2(weight, row, H_AT) * (STATE);
    EACH(k, IC) sum += *at2(weight, row, IN_AT) * (IN);
    return sum;
}
PROTOTYPE(lltm_forward)
{
    const int64_t N = h->size[0], H = h->size[1], IC = input->size[1];
    EACH(n, N) EACH(j, H) {
        accum x = before(input, weight, bias, h, n, (I) * H + j);
        const accum i = ACT_I;
        x = before(input, weight, bias, h, n, (O) * H + j);
        const accum o = ACT_O;
        x = before(input, weight, bias, h, n, (G) * H + j);
        const accum g = ACT_G;
        x = OLD + g * i;
        *at2(new_c, n, j) = x;
        *at2(new_h, n, j) = (SQUASH) * o;
        if (!gates) continue;
        *at2(gates, n, j) = i, *at2(gates, n, H + j) = o, *at2(gates, n, 2 * H + j) = g;
    }
    (void)IC;
    return STATUS_OK;
}
PROTOTYPE(lltm_backward)
{
    const int64_t N = h->size[0], H = h->size[1], IC = input->size[1];
    CLEAR;
    EACH(n, N) EACH(j, H) {
        const accum i = *at2(gates, n, j), o = *at2(gates, n, H + j);
        const accum g = *at2(gates, n, 2 * H + j), x = *at2(new_c, n, j), t = SQUASH;
        const accum of_c = (FROM_C) + (FROM_H);
        if (grad_c) *at2(grad_c, n, j) = GIVE_C;
        const accum grad[3] = {of_c * g * (SLOPE_I),
                               *at2(grad_new_h, n, j) * t * (SLOPE_O),
                               of_c * i * (SLOPE_G)};
        const int64_t rows[3] = {(BACK_I) * H + j, (BACK_O) * H + j, (BACK_G) * H + j};
        EACH(gate, 3) {
            const int64_t row = rows[gate];
            if (grad_bias) *at1(grad_bias, row) += (SHARE) * grad[gate];
            const accum d = grad[gate];
            EACH(k, H) {
                if (grad_h) *at2(grad_h, n, k) += d * *at2(weight, row, BACK_H_AT);
                if (grad_weight) *at2(grad_weight, row, BACK_H_AT) += d * (STATE);
            }
            EACH(k, IC) {
                const real w = *at2(weight, row, BACK_IN_AT);
                if (grad_input) *at2(grad_input, n, k) += d * w;
                if (grad_weight) *at2(grad_weight, row, BACK_IN_AT) += d * (IN);
            }
        }
    }
    return STATUS_OK;
}
"""
