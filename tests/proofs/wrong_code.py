# SPDX-License-Identifier: MIT
"""Operators in C whose parts are macros: a wrong submission redefines some of them.

They are written apart from the reference solutions and from the known mistakes. A line
PROTOTYPE(name) stands for the function's prototype in operators.h.
"""

from __future__ import annotations

import re

from tests import PROGRAMS, ROOT
from tests.proofs.wrong_cell import LLTM, LLTM_C
from tests.proofs.wrong_norm import LAYER_NORM, LAYER_NORM_C

_HEADER = (ROOT / "common" / "operators.h").read_text()
HEAD = """#include "operators.h"
#define EACH(i, n) for (int64_t i = 0; i < (n); i++)
static inline void clear(tensor_t *t)
{
    if (t) EACH(i, tensor_numel(t)) real_data(t)[i] = 0;
}
"""

WINDOW = {
    "Y": "oh * p.stride_h - p.padding_h + kh * p.dilation_h",
    "X": "ow * p.stride_w - p.padding_w + kw * p.dilation_w",
}

CONV2D = {
    **WINDOW,
    "N_END": "N",
    "OC_END": "OC",
    "OH_END": "OH",
    "OW_END": "OW",
    "IC_END": "IC",
    "KH_END": "KH",
    "KW_END": "KW",
    "CHANNEL": "oc / (OC / p.groups) * IC + ic",
    "PAD": "0",
    "INPUT": "*at4(input, n, c, ih, iw)",
    "WEIGHT": "*at4(weight, oc, ic, kh, kw)",
    "START": "bias ? *at1(bias, oc) : 0",
    "STEP": "0",
    "PUT": "*at4(output, n, oc, oh, ow) =",
    "CLEAR": "clear(grad_input), clear(grad_weight), clear(grad_bias)",
    "GRAD": "*at4(grad_output, n, oc, oh, ow)",
    "WEIGHT_BACK": "WEIGHT",
    "GRAD_INPUT": "*at4(grad_input, n, c, ih, iw)",
    "GRAD_WEIGHT": "*at4(grad_weight, oc, ic, kh, kw)",
    "SHARE": "1",
    "EARLY": "",
}
CONV2D_C = """
static real sink;
#define SIZES \\
    const int64_t N = input->size[0], IH = input->size[2], IW = input->size[3]; \\
    const int64_t OC = weight->size[0], IC = weight->size[1]; \\
    const int64_t KH = weight->size[2], KW = weight->size[3]; \\
    (void)N, (void)IH, (void)IW, (void)OC, (void)IC, (void)KH, (void)KW
#define OUTSIDE (ih < 0 || iw < 0 || ih >= IH || iw >= IW)
PROTOTYPE(conv2d_forward)
{
    SIZES;
    const int64_t OH = output->size[2], OW = output->size[3];
    EACH(n, N_END) EACH(oc, OC_END) EACH(oh, OH_END) EACH(ow, OW_END) {
        accum sum = START;
        EACH(ic, IC_END) EACH(kh, KH_END) EACH(kw, KW_END) {
            int64_t ih = Y, iw = X, c = CHANNEL;
            if (OUTSIDE) { sum += (PAD) * (WEIGHT); continue; }
            sum += (INPUT) * (WEIGHT) + (STEP);
        }
        PUT sum;
    }
    (void)sink;
    return STATUS_OK;
}
PROTOTYPE(conv2d_backward)
{
    SIZES;
    const int64_t OH = grad_output->size[2], OW = grad_output->size[3];
    CLEAR;
    EACH(n, N_END) EACH(oc, OC_END) EACH(oh, OH_END) EACH(ow, OW_END) {
        const real g = GRAD;
        if (grad_bias) *at1(grad_bias, oc) += g * (SHARE);
        EACH(ic, IC_END) EACH(kh, KH_END) EACH(kw, KW_END) {
            int64_t ih = Y, iw = X, c = CHANNEL;
            EARLY;
            if (OUTSIDE) continue;
            if (grad_weight) GRAD_WEIGHT += g * (INPUT);
            if (grad_input) GRAD_INPUT += g * (WEIGHT_BACK);
        }
    }
    return STATUS_OK;
}
"""

# conv2d's text serves: weight (OC, 1, KH, KW) leaves one turn of the loop over ic
DEPTHWISE = {**CONV2D, "CHANNEL": "oc / (OC / input->size[1])"}

MATMUL = {
    "LHS": "*at2(&a, m, k)",
    "RHS": "*at2(&b, k, n)",
    "M_END": "M",
    "N_END": "N",
    "K_END": "K",
    "ADD": "+=",
    "LHS_BATCH": "i",
    "RHS_BATCH": "i",
    "BATCHES": "tensor_count(r, r->ndim - 2)",
    "AT": "tensor_offset(t, t->ndim - 2, i)",
    "DOWN": "t->stride[t->ndim - 2]",
    "RIGHT": "t->stride[t->ndim - 1]",
    "PUT": "*at2(&c, m, n)",
    "TURN_INPUT": "1",
    "TURN_OTHER": "1",
    "FIRST": "grad_input",
    "SECOND": "grad_other",
}
MATMUL_C = """
static tensor_t part(const tensor_t *t, int64_t i, int turn)
{
    tensor_t v = {.data = real_data(t) + (AT), .ndim = 2};
    const int64_t rows = t->size[t->ndim - 2], columns = t->size[t->ndim - 1];
    v.size[turn] = rows, v.size[!turn] = columns;
    v.stride[turn] = DOWN, v.stride[!turn] = RIGHT;
    return v;
}
static void multiply(const tensor_t *lhs, int tl, const tensor_t *rhs, int tr,
                     tensor_t *r)
{
    if (!r || !tensor_numel(r)) return;
    EACH(i, BATCHES) {
        const tensor_t c = part(r, i, 0);
        tensor_t a = {.ndim = 2}, b = {.ndim = 2};
        const int64_t K = lhs->size[lhs->ndim - 1 - tl];
        if (K) a = part(lhs, LHS_BATCH, tl), b = part(rhs, RHS_BATCH, tr);
        const int64_t M = c.size[0], N = c.size[1];
        EACH(m, M_END) EACH(n, N_END) {
            accum sum = 0;
            EACH(k, K_END) sum ADD (LHS) * (RHS);
            PUT = sum;
        }
    }
}
PROTOTYPE(matmul_forward)
{
    multiply(input, 0, other, 0, output);
    return STATUS_OK;
}
PROTOTYPE(matmul_backward)
{
    multiply(grad_output, 0, other, TURN_OTHER, FIRST);
    multiply(input, TURN_INPUT, grad_output, 0, SECOND);
    return STATUS_OK;
}
"""

LINEAR = {
    "ROWS": "R",
    "IN": "real_data(input)[tensor_offset(input, d, r) + ic * input->stride[d]]",
    "WEIGHT": "*at2(weight, oc, ic)",
    "START": "bias ? *at1(bias, oc) : 0",
    "G": "real_data(grad_output)[tensor_offset(grad_output, d, r)"
    " + oc * grad_output->stride[d]]",
    "GRAD_WEIGHT": "*at2(grad_weight, oc, ic)",
    "SHARE": "1",
    "BIAS_ROW": "1",
    "CLEAR": "clear(grad_input), clear(grad_weight), clear(grad_bias)",
}
LINEAR_C = """
#define SIZES(t) \\
    const int32_t d = (t)->ndim - 1; \\
    const int64_t R = tensor_count(t, d), OC = weight->size[0], IC = weight->size[1]
PROTOTYPE(linear_forward)
{
    SIZES(input);
    real *y = real_data(output);
    EACH(r, ROWS) EACH(oc, OC) {
        accum sum = START;
        EACH(ic, IC) sum += (IN) * (WEIGHT);
        y[r * OC + oc] = sum;
    }
    (void)R;
    return STATUS_OK;
}
PROTOTYPE(linear_backward)
{
    SIZES(grad_output);
    CLEAR;
    EACH(r, ROWS) EACH(oc, OC) {
        const real g = G;
        if (grad_bias && (BIAS_ROW)) *at1(grad_bias, oc) += g * (SHARE);
        EACH(ic, IC) {
            if (grad_input) real_data(grad_input)[r * IC + ic] += g * (WEIGHT);
            if (grad_weight) GRAD_WEIGHT += g * (IN);
        }
    }
    (void)R;
    return STATUS_OK;
}
"""

UNFOLD = {
    **WINDOW,
    "ROW": "(c * KH + kh) * KW + kw",
    "COLUMN": "oh * OW + ow",
    "INPUT": "*at4(input, n, c, ih, iw)",
    "PAD": "0",
    "ADD": "+=",
    "CLEAR": "clear(grad_input)",
}
UNFOLD_C = """
#define SIZES(t) \\
    const int64_t N = (t)->size[0], IC = (t)->size[1]; \\
    const int64_t IH = (t)->size[2], IW = (t)->size[3]; \\
    const int64_t KH = p.kernel_h, KW = p.kernel_w; \\
    const int64_t OH = conv2d_extent(IH, KH, p.stride_h, p.padding_h, p.dilation_h); \\
    const int64_t OW = conv2d_extent(IW, KW, p.stride_w, p.padding_w, p.dilation_w)
#define ALL EACH(n, N) EACH(c, IC) EACH(kh, KH) EACH(kw, KW) EACH(oh, OH) EACH(ow, OW)
#define OUTSIDE (ih < 0 || iw < 0 || ih >= IH || iw >= IW)
PROTOTYPE(unfold_forward)
{
    SIZES(input);
    ALL {
        int64_t ih = Y, iw = X;
        *at3(output, n, ROW, COLUMN) = OUTSIDE ? (PAD) : (INPUT);
    }
    return STATUS_OK;
}
PROTOTYPE(unfold_backward)
{
    if (!grad_input) return STATUS_OK;
    SIZES(grad_input);
    CLEAR;
    ALL {
        int64_t ih = Y, iw = X;
        if (!OUTSIDE) {
            real *to = at4(grad_input, n, c, ih, iw);
            *to ADD *at3(grad_output, n, ROW, COLUMN);
        }
    }
    return STATUS_OK;
}
"""

ADD = {
    "SUM": "a + alpha * b",
    "SCALE_INPUT": "1",
    "SCALE_OTHER": "alpha",
    "PUT": "+=",
    "SHARE": "1",
    "STRIDE": "t->stride[e]",
    "GRAD_AT": "tensor_offset(grad_output, grad_output->ndim, i)",
}
ADD_C = """
static int64_t find(const tensor_t *t, const tensor_t *all, int64_t i, int dense)
{
    int64_t at = 0, step = 1;
    for (int32_t e = t->ndim - 1, d = all->ndim - 1; e >= 0; e--, d--) {
        const int64_t index = t->size[e] == 1 ? 0 : i % all->size[d];
        at += index * (dense ? step : (STRIDE));
        i /= all->size[d], step *= t->size[e];
    }
    return at;
}
PROTOTYPE(add_forward)
{
    const accum alpha = p.alpha;
    EACH(i, tensor_numel(output)) {
        const accum a = real_data(input)[find(input, output, i, 0)];
        const accum b = real_data(other)[find(other, output, i, 0)];
        real_data(output)[i] = SUM;
    }
    (void)alpha;
    return STATUS_OK;
}
static void spread(const tensor_t *grad_output, tensor_t *to, double scale)
{
    if (!to) return;
    const double share = (double)tensor_numel(to) / tensor_numel(grad_output);
    clear(to);
    EACH(i, tensor_numel(grad_output)) {
        const accum g = real_data(grad_output)[GRAD_AT];
        real_data(to)[find(to, grad_output, i, 1)] PUT scale * (SHARE) * g;
    }
    (void)share;
}
PROTOTYPE(add_backward)
{
    const double alpha = p.alpha;
    spread(grad_output, grad_input, SCALE_INPUT);
    spread(grad_output, grad_other, SCALE_OTHER);
    (void)alpha;
    return STATUS_OK;
}
"""

GELU = {
    "FORM": "p.approximate",
    "X": "real_data(input)[tensor_offset(input, input->ndim, i)]",
    "GRAD": "real_data(grad_output)[tensor_offset(grad_output, grad_output->ndim, i)]",
    "ERF_OF": "x / sqrt(2.0)",
    "SCALE": "sqrt(2 / M_PI)",
    "CUBIC": "0.044715",
    "CUBE": "x * x * x",
    "OUTER_SCALE": "SCALE",
    "OUTER_CUBIC": "3 * (CUBIC) * x * x",
    "ONE": "1",
    "WHOLE": "x / 2 * (ONE + squashed(x, FORM))",
    "SHARE": "(1 + squashed(x, FORM)) / 2",
    "TIMES": "x",
    "END": "tensor_numel(input)",
}
GELU_C = """
static double squashed(double x, int64_t form)
{
    if (form == GELU_NONE) return erf(ERF_OF);
    return tanh((SCALE) * (x + (CUBIC) * CUBE));
}
static double steep(double x, int64_t form)
{
    if (form == GELU_NONE) return exp(-x * x / 2) / sqrt(2 * M_PI);
    const double t = squashed(x, form);
    return (1 - t * t) / 2 * (OUTER_SCALE) * (1 + OUTER_CUBIC);
}
PROTOTYPE(gelu_forward)
{
    EACH(i, END) {
        const double x = X;
        real_data(output)[i] = WHOLE;
    }
    return STATUS_OK;
}
PROTOTYPE(gelu_backward)
{
    EACH(i, END) {
        const double x = X, g = GRAD;
        real_data(grad_input)[i] = g * (SHARE + (TIMES) * steep(x, FORM));
        (void)g;
    }
    return STATUS_OK;
}
"""

# the right parts of the submissions: nobody redefines any of them
_SUBM = PROGRAMS / "submissions" / "right" / "subm_conv3d"
SUBM_C = "\n".join(file.read_text() for file in sorted(_SUBM.iterdir()))

PARTS = {
    "conv2d": (CONV2D, CONV2D_C),
    "depthwise_conv2d": (DEPTHWISE, CONV2D_C.replace("conv2d_", "depthwise_conv2d_")),
    "matmul": (MATMUL, MATMUL_C),
    "linear": (LINEAR, LINEAR_C),
    "unfold": (UNFOLD, UNFOLD_C),
    "add": (ADD, ADD_C),
    "gelu": (GELU, GELU_C),
    "layer_norm": (LAYER_NORM, LAYER_NORM_C),
    "lltm": (LLTM, LLTM_C),
    "subm_conv3d": ({}, SUBM_C),
}


def source(operator: str, **changed: str) -> str:
    """The operator with some macros redefined."""
    macros, body = PARTS[operator]
    assert set(changed) <= set(macros), set(changed) - set(macros)
    lines = [f"#define {k} {v}" for k, v in {**macros, **changed}.items()]
    body = re.sub(r"^PROTOTYPE\((\w+)\)$", lambda m: _prototype(m[1]), body, flags=re.M)
    return HEAD + "\n".join(lines) + body


def _prototype(name: str) -> str:
    found = re.search(rf"^(status_t {name}\([^)]*\));$", _HEADER, re.M)
    assert found, f"operators.h has no {name}"
    return found[1]
