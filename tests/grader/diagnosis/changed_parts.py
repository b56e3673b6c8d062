# SPDX-License-Identifier: MIT
"""Wrong submissions as parts of wrong_code.py that are changed, and their names.

test_explanation.py builds each of them and asks what it is called.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest


@dataclass(frozen=True)
class Wrong:
    """A wrong submission: the macros it redefines, and the names it should get."""

    operator: str
    change: dict[str, str]
    names: dict[str, str | None]  # by direction; None: it fails and gets no name


def case(operator: str, names: dict[str, str | None], **change: str) -> object:
    """A parameter of the tests."""
    label = next(iter(names.values())) or "unlisted"
    macros = "-".join(change).lower()
    return pytest.param(
        Wrong(operator, change, names), id=f"{operator}-{label}-{macros}"
    )


def fwd(operator: str, name: str | None, **change: str) -> object:
    """Wrong forward."""
    return case(operator, {"forward": name}, **change)


def back(operator: str, name: str | None, **change: str) -> object:
    """Wrong backward."""
    return case(operator, {"backward": name}, **change)


def both(operator: str, name: str | None, **change: str) -> object:
    """Wrong both ways, by the same name."""
    return case(operator, {"forward": name, "backward": name}, **change)


DENSE_INPUT = "real_data(input)[((n * input->size[1] + c) * IH + ih) * IW + iw]"
NO_PADDING = {
    "Y": "oh * p.stride_h + kh * p.dilation_h",
    "X": "ow * p.stride_w + kw * p.dilation_w",
}
EXCHANGED = {
    "Y": "oh * p.stride_w - p.padding_w + kh * p.dilation_w",
    "X": "ow * p.stride_h - p.padding_h + kw * p.dilation_h",
}
NO_STRIDE = {
    "Y": "oh - p.padding_h + kh * p.dilation_h",
    "X": "ow - p.padding_w + kw * p.dilation_w",
}
NO_DILATION = {
    "Y": "oh * p.stride_h - p.padding_h + kh",
    "X": "ow * p.stride_w - p.padding_w + kw",
}
EDGE = (
    "*at4(input, n, c, ih < 0 ? 0 : ih >= IH ? IH - 1 : ih, "
    "iw < 0 ? 0 : iw >= IW ? IW - 1 : iw)"
)
AROUND = "*at4(input, n, c, (ih + 99 * IH) % IH, (iw + 99 * IW) % IW)"
TURNED = "*at4(weight, oc, ic, KH - 1 - kh, KW - 1 - kw)"

FILTER_OF_CHANNEL = "*at4(weight, c * (OC / input->size[1]), ic, kh, kw)"

DEPTHWISE_LISTED = [
    both("depthwise_conv2d", "multiplier_index", CHANNEL="oc % input->size[1]"),
    both("depthwise_conv2d", "multiplier_index", CHANNEL="0"),
    fwd("depthwise_conv2d", "first_filter_only", WEIGHT=FILTER_OF_CHANNEL),
    fwd("depthwise_conv2d", "first_filter_only", WEIGHT="*at4(weight, c, ic, kh, kw)"),
    back("depthwise_conv2d", "first_filter_only", WEIGHT_BACK=FILTER_OF_CHANNEL),
    back(
        "depthwise_conv2d",
        "first_filter_only",
        EARLY="if (oc % (OC / input->size[1])) continue",
    ),
    both("depthwise_conv2d", "padding_ignored", **NO_PADDING),
    both("depthwise_conv2d", "hw_swapped", **EXCHANGED),
    both("depthwise_conv2d", "stride_ignored", **NO_STRIDE),
    back(
        "depthwise_conv2d",
        "stride_ignored",
        EARLY="if (grad_input) { const int64_t h = ih - oh * (p.stride_h - 1), "
        "w = iw - ow * (p.stride_w - 1); if (h >= 0 && h < IH && w >= 0 && w < IW) "
        "*at4(grad_input, n, c, h, w) += g * (WEIGHT); }",
        GRAD_INPUT="sink",
    ),
    both("depthwise_conv2d", "dilation_ignored", **NO_DILATION),
    fwd("depthwise_conv2d", "kernel_flipped", WEIGHT=TURNED),
    back("depthwise_conv2d", "gradient_not_flipped", WEIGHT_BACK=TURNED),
    fwd("depthwise_conv2d", "bias_missing", START="0"),
    back("depthwise_conv2d", "bias_averaged", SHARE="1.0 / N"),
    back("depthwise_conv2d", "bias_averaged", SHARE="1.0 / (N * OH * OW)"),
    both("depthwise_conv2d", "batch_ignored", N_END="N < 1 ? N : 1"),
    fwd("depthwise_conv2d", "last_tile_forgotten", OW_END="OW / 4 * 4"),
    back("depthwise_conv2d", "accumulated_into_garbage", CLEAR="clear(grad_input)"),
    both("depthwise_conv2d", "strides_ignored", INPUT=DENSE_INPUT),
]

OTHER_FORM: dict[str, str | None] = {
    "forward": "other_form",
    "backward": "slope_of_other_form",
}

LISTED = [
    both("conv2d", "padding_ignored", **NO_PADDING),
    both("conv2d", "hw_swapped", **EXCHANGED),
    both(
        "conv2d",
        "hw_swapped",
        Y="oh * p.stride_h - p.padding_w + kh * p.dilation_h",
        X="ow * p.stride_w - p.padding_h + kw * p.dilation_w",
    ),
    both("conv2d", "hw_swapped", X="ow * p.stride_h - p.padding_w + kw * p.dilation_w"),
    both("conv2d", "hw_swapped", X="ow * p.stride_w - p.padding_h + kw * p.dilation_w"),
    both("conv2d", "stride_ignored", **NO_STRIDE),
    both("conv2d", "dilation_ignored", **NO_DILATION),
    fwd("conv2d", "padding_not_zero", PAD=EDGE),
    fwd("conv2d", "padding_not_zero", PAD=AROUND),
    both(
        "conv2d",
        "kernel_flipped",
        WEIGHT=TURNED,
        GRAD_WEIGHT=TURNED.replace("weight", "grad_weight"),
    ),
    back("conv2d", "gradient_not_flipped", WEIGHT_BACK=TURNED),
    back(
        "conv2d",
        "gradient_not_cropped",
        GRAD_INPUT="sink",
        EARLY="if (grad_input && ih + p.padding_h < IH && iw + p.padding_w < IW) "
        "*at4(grad_input, n, c, ih + p.padding_h, iw + p.padding_w) += g * (WEIGHT)",
    ),
    both("conv2d", "groups_ignored", CHANNEL="ic"),
    both("conv2d", "groups_ignored", CHANNEL="oc % p.groups * IC + ic"),
    both("conv2d", "groups_ignored", CHANNEL="ic * p.groups + oc * p.groups / OC"),
    fwd("conv2d", "bias_missing", START="0"),
    fwd("conv2d", "bias_per_channel", STEP="bias ? *at1(bias, oc) : 0", START="0"),
    back("conv2d", "bias_averaged", SHARE="1.0 / N"),
    back("conv2d", "bias_averaged", SHARE="1.0 / (N * OH * OW)"),
    back("conv2d", "accumulated_into_garbage", CLEAR="clear(grad_input)"),
    back(
        "conv2d",
        "weight_gradient_transposed",
        GRAD_WEIGHT="real_data(grad_weight)[((oc * IC + ic) * KW + kw) * KH + kh]",
    ),
    back(
        "conv2d",
        "weight_gradient_transposed",
        GRAD_WEIGHT="real_data(grad_weight)[((ic * OC + oc) * KH + kh) * KW + kw]",
    ),
    both("conv2d", "batch_ignored", N_END="N < 1 ? N : 1"),
    fwd("conv2d", "batch_ignored", INPUT="*at4(input, 0, c, ih, iw)"),
    fwd("conv2d", "last_tile_forgotten", OW_END="OW / 4 * 4"),
    both("conv2d", "last_tile_forgotten", OH_END="OH - 1"),
    fwd("conv2d", "last_tile_forgotten", IC_END="IC / 2 * 2"),
    back("conv2d", "last_tile_forgotten", OC_END="OC / 4 * 4"),
    both("conv2d", "strides_ignored", INPUT=DENSE_INPUT),
    *DEPTHWISE_LISTED,
    back("matmul", "operand_transposed", TURN_OTHER="0"),
    fwd("matmul", "operand_transposed", RHS="*at2(&b, n, k)"),
    back("matmul", "gradients_swapped", FIRST="grad_other", SECOND="grad_input"),
    both("matmul", "batch_ignored", RHS_BATCH="0"),
    both("matmul", "batch_ignored", BATCHES="1"),
    both("matmul", "last_term_forgotten", K_END="K - 1"),
    fwd("matmul", "last_term_forgotten", K_END="K & ~7"),
    both("matmul", "last_row_or_column_forgotten", M_END="M - 1"),
    fwd("matmul", "last_row_or_column_forgotten", N_END="N / 8 * 8"),
    both("matmul", "accumulation_missing", ADD="="),
    both("matmul", "strides_ignored", DOWN="columns", RIGHT="1"),
    fwd("linear", "bias_missing", START="0"),
    fwd("linear", "weight_transposed", WEIGHT="real_data(weight)[ic * OC + oc]"),
    back("linear", "bias_averaged", SHARE="1.0 / R"),
    fwd("linear", "bias_first_row", START="bias && r == 0 ? *at1(bias, oc) : 0"),
    back("linear", "bias_first_row", BIAS_ROW="r == 0"),
    back(
        "linear",
        "weight_gradient_transposed",
        GRAD_WEIGHT="real_data(grad_weight)[ic * OC + oc]",
    ),
    both("linear", "batch_ignored", ROWS="R < 1 ? R : 1"),
    both("linear", "strides_ignored", IN="real_data(input)[r * IC + ic]"),
    both("unfold", "hw_swapped", **EXCHANGED),
    both("unfold", "order_swapped", ROW="(kh * KW + kw) * IC + c"),
    both("unfold", "order_swapped", COLUMN="ow * OH + oh"),
    both("unfold", "padding_ignored", **NO_PADDING),
    both("unfold", "stride_ignored", **NO_STRIDE),
    both("unfold", "dilation_ignored", **NO_DILATION),
    fwd("unfold", "padding_not_zero", PAD=EDGE),
    back("unfold", "overlap_overwritten", ADD="="),
    fwd("unfold", "strides_ignored", INPUT=DENSE_INPUT.replace("input->size[1]", "IC")),
    back("unfold", "accumulated_into_garbage", CLEAR="(void)0"),
    fwd("add", "alpha_ignored", SUM="a + b"),
    fwd("add", "alpha_on_input", SUM="alpha * a + b"),
    fwd("add", "alpha_twice", SUM="alpha * (a + b)"),
    back("add", "alpha_twice", SCALE_OTHER="alpha * alpha"),
    back("add", "alpha_missing_in_backward", SCALE_OTHER="1"),
    back("add", "gradients_swapped", SCALE_INPUT="alpha", SCALE_OTHER="1"),
    back("add", "broadcast_not_summed", PUT="="),
    back("add", "broadcast_averaged", SHARE="share"),
    back("add", "strides_ignored", GRAD_AT="i"),
    fwd("add", "strides_ignored", STRIDE="step"),
    case("gelu", OTHER_FORM, FORM="GELU_NONE"),
    case("gelu", OTHER_FORM, FORM="GELU_TANH"),
    case("gelu", OTHER_FORM, FORM="3 - p.approximate"),
    fwd("gelu", "sigmoid_for_gelu", WHOLE="x / (1 + exp(-1.702 * x))"),
    both("gelu", "cubic_term_wrong", CUBIC="0.0044715"),
    both("gelu", "cubic_term_wrong", CUBIC="0.044175"),
    fwd("gelu", "cubic_term_wrong", CUBE="x * x"),
    both("gelu", "scale_wrong", SCALE="2 / M_PI"),
    back("gelu", "scale_wrong", OUTER_SCALE="0.798"),
    fwd("gelu", "argument_of_erf_wrong", ERF_OF="x"),
    fwd("gelu", "x_forgotten", WHOLE="(1 + squashed(x, FORM)) / 2"),
    fwd("gelu", "one_forgotten", ONE="0"),
    fwd("gelu", "half_forgotten", WHOLE="x * (1 + squashed(x, FORM))"),
    back("gelu", "slope_of_share_missing", TIMES="0"),
    back("gelu", "share_missing", SHARE="0"),
    back("gelu", "x_missing_in_slope", TIMES="1"),
    back("gelu", "inner_slope_wrong", OUTER_CUBIC="(CUBIC) * x * x"),
    back("gelu", "grad_output_forgotten", GRAD="1"),
    both("gelu", "strides_ignored", X="real_data(input)[i]"),
    fwd("layer_norm", "variance_unbiased", VARIANCE="squares / (D - 1)"),
    fwd("layer_norm", "eps_forgotten", RSTD="1 / sqrt(VARIANCE)"),
    fwd("layer_norm", "eps_outside_the_root", RSTD="1 / (sqrt(VARIANCE) + p.eps)"),
    fwd("layer_norm", "eps_outside_the_root", RSTD="1 / sqrt(VARIANCE) + p.eps"),
    fwd("layer_norm", "root_forgotten", RSTD="1 / (VARIANCE + p.eps)"),
    fwd("layer_norm", "mean_forgotten", XHAT="X(r, d) * s"),
    fwd("layer_norm", "mean_forgotten", XHAT="X(r, d) * s", SQUARE="(AT) * (AT)"),
    fwd("layer_norm", "normalised_over_batch", COUNT="R", AT="X(i, d)"),
    fwd(
        "layer_norm",
        "weight_and_bias_swapped",
        RESULT="(XHAT) * (bias ? *at1(bias, d) : 1) + (weight ? *at1(weight, d) : 0)",
    ),
    back(
        "layer_norm",
        "gradients_swapped",
        TO_WEIGHT="grad_bias",
        TO_BIAS="grad_weight",
    ),
    fwd("layer_norm", "weight_missing", RESULT="(XHAT) + (B)"),
    fwd("layer_norm", "bias_missing", RESULT="(XHAT) * (W)"),
    back("layer_norm", "bias_missing", OF_BIAS="0"),
    back("layer_norm", "weight_missing_in_backward", DX="G(r, d)"),
    back("layer_norm", "weight_missing_in_backward", DX="G(r, d) * (W) * (W)"),
    back("layer_norm", "mean_term_missing", OF_MEAN="0"),
    back("layer_norm", "rstd_term_missing", OF_RSTD="0"),
    back("layer_norm", "statistics_constant", OF_MEAN="0", OF_RSTD="0"),
    back(
        "layer_norm",
        "sums_for_averages",
        OF_MEAN="sum",
        OF_RSTD="xhat * sum_xhat",
    ),
    back("layer_norm", "sums_for_averages", OF_MEAN="sum"),
    back("layer_norm", "sums_for_averages", OF_RSTD="xhat * sum_xhat"),
    back("layer_norm", "rstd_missing_in_backward", OUTER="1"),
    back("layer_norm", "weight_gradient_not_normalised", OF_WEIGHT="G(r, d) * X(r, d)"),
    back(
        "layer_norm",
        "weight_gradient_not_normalised",
        OF_WEIGHT="G(r, d) * (X(r, d) - m)",
    ),
    back("layer_norm", "rows_averaged", OF_BIAS="G(r, d) / R"),
    back("layer_norm", "rows_averaged", OF_WEIGHT="G(r, d) * xhat / R"),
    back("layer_norm", "last_row_only", ADD="="),
    fwd(
        "layer_norm",
        "strides_ignored",
        **{"X(r, d)": "real_data(input)[(r) * D + (d)]"},
    ),
    back("layer_norm", "accumulated_into_garbage", CLEAR="clear(grad_input)"),
    both("lltm", "gates_swapped", O="2", G="1"),
    both("lltm", "gates_swapped", I="1", O="0"),
    both("lltm", "gates_swapped", I="2", G="0"),
    both("lltm", "gates_swapped", I="1", O="2", G="0"),
    both("lltm", "gates_swapped", I="2", O="0", G="1"),
    back("lltm", "gates_swapped", BACK_O="2", BACK_G="1"),
    both("lltm", "joined_swapped", IN_AT="k", H_AT="IC + k"),
    back("lltm", "joined_swapped", BACK_IN_AT="k", BACK_H_AT="IC + k"),
    fwd("lltm", "old_cell_forgotten", OLD="0"),
    back("lltm", "old_cell_forgotten", GIVE_C="0"),
    back("lltm", "cell_gradient_missing", FROM_C="0"),
    back("lltm", "cell_gradient_missing", FROM_H="0"),
    back("lltm", "cell_gradient_missing", GIVE_C="FROM_C"),
    fwd("lltm", "activation_wrong", SQUASH="1 / (1 + exp(-x))"),
    fwd("lltm", "activation_wrong", ACT_G="1 / (1 + exp(-x))"),
    fwd("lltm", "activation_wrong", ACT_G="tanh(x)"),
    fwd("lltm", "activation_wrong", ACT_G="x > 0 ? x : 0"),
    back("lltm", "slope_at_wrong_value", SLOPE_G="g > 0 ? 1 : exp(g)"),
    back("lltm", "slope_missing", SLOPE_G="1"),
    back("lltm", "slope_missing", SLOPE_T="1"),
    back("lltm", "slope_at_wrong_value", SLOPE_T="1 - tanh(t) * tanh(t)"),
    back("lltm", "slope_at_wrong_value", SLOPE_T="1 - x * x"),
    back(
        "lltm",
        "slope_at_wrong_value",
        SLOPE_I="1 / (1 + exp(-i)) * (1 - 1 / (1 + exp(-i)))",
        SLOPE_O="1 / (1 + exp(-o)) * (1 - 1 / (1 + exp(-o)))",
    ),
    fwd("lltm", "bias_missing", START="0"),
    back("lltm", "bias_missing", SHARE="0"),
    back("lltm", "bias_averaged", SHARE="1.0 / N"),
    fwd("lltm", "strides_ignored", IN="real_data(input)[n * IC + k]"),
    back("lltm", "accumulated_into_garbage", CLEAR="clear(grad_input)"),
    fwd("conv2d", "padding_and_bias_missing", START="0", **NO_PADDING),
    fwd("conv2d", "kernel_flipped_without_bias", START="0", WEIGHT=TURNED),
    fwd(
        "linear",
        "weight_transposed_without_bias",
        WEIGHT="real_data(weight)[ic * OC + oc]",
        START="0",
    ),
    fwd(
        "layer_norm",
        "unbiased_and_eps_forgotten",
        RSTD="1 / sqrt(VARIANCE)",
        VARIANCE="squares / (D - 1)",
    ),
    fwd("layer_norm", "weight_and_bias_missing", RESULT="XHAT"),
]

UNLISTED = [
    both(
        "conv2d",
        "index_wrong",
        Y="oh * p.stride_h - p.padding_h + kh * p.dilation_h + 1",
    ),
    fwd("conv2d", "factor_wrong", START="bias ? -*at1(bias, oc) : 0"),
    fwd("conv2d", None, PUT="*at4(output, n, oc, oh, ow) = 2 *"),
    fwd("conv2d", None, PAD="1"),
    fwd("conv2d", None, STEP="1e-3"),
    both("conv2d", "index_wrong", CHANNEL="oc / (OC / p.groups) * IC + (IC - 1 - ic)"),
    back("conv2d", None, GRAD="(oh ? 1 : 2) * *at4(grad_output, n, oc, oh, ow)"),
    back("conv2d", None, SHARE="oc + 1"),
    both("conv2d", None, WEIGHT="fabs(*at4(weight, oc, ic, kh, kw))"),
    fwd("conv2d", "digits_of_double_lost", INPUT="(float)*at4(input, n, c, ih, iw)"),
    fwd("depthwise_conv2d", "factor_wrong", START="bias ? -*at1(bias, oc) : 0"),
    back("depthwise_conv2d", None, SHARE="oc + 1"),
    fwd("matmul", "index_wrong", LHS="*at2(&a, M - 1 - m, k)"),
    fwd("matmul", None, PUT="*at2(&c, m, n) = -1; sum"),
    both("matmul", None, RHS="(k % 2 ? 1 : 0.5) * *at2(&b, k, n)"),
    fwd("linear", "bias_index", START="bias ? *at1(bias, OC - 1 - oc) : 0"),
    back("linear", None, SHARE="r + 1.0"),
    fwd("linear", "index_wrong", WEIGHT="*at2(weight, OC - 1 - oc, ic)"),
    both("unfold", "index_wrong", ROW="(c * KH + KH - 1 - kh) * KW + kw"),
    back("unfold", "factor_wrong", ADD="-="),
    fwd("add", "step_wrong", SUM="a - alpha * b"),
    back("add", "step_wrong", SCALE_INPUT="-1"),
    back("add", None, SCALE_OTHER="alpha + 1"),
    fwd("gelu", None, WHOLE="x > 0 ? x : 0"),
    fwd("gelu", None, ONE="1.001"),
    back("gelu", "gradient_of_step_wrong", TIMES="-x"),
    fwd("layer_norm", "step_wrong", RSTD="1 / sqrt(VARIANCE + 2 * p.eps)"),
    fwd("layer_norm", "step_wrong", RESULT="(XHAT) * (W) - (B)"),
    fwd("layer_norm", None, SQUARE="fabs(AT - m)"),
    back("layer_norm", "step_wrong", OF_RSTD="-xhat * sum_xhat / D"),
    back("layer_norm", "step_wrong", OF_MEAN="sum_xhat / D"),
    back("layer_norm", None, OF_BIAS="G(r, d) * (r + 1)"),
    fwd("lltm", "step_wrong", START="-*at1(bias, row)"),
    fwd("lltm", "step_wrong", OLD="2 * *at2(c, n, j)"),
    fwd("lltm", None, ACT_G="x > 0 ? x : 0.5 * (exp(x) - 1)"),
    back("lltm", "slope_missing", SLOPE_T="1 - t"),
    back("lltm", "step_wrong", FROM_C="-*at2(grad_new_c, n, j)"),
    back("lltm", "gradient_of_step_wrong", SLOPE_O="1 - o * o"),
    back("lltm", "gradient_of_step_wrong", SLOPE_T="t * (1 - t)"),
    back("lltm", None, SHARE="n + 1"),
]
