# SPDX-License-Identifier: MIT
"""Known mistakes of layer_norm, most as changes of its steps (diagnosis/search)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch

from grader.diagnosis.mistakes import formulas, warp_sums
from grader.diagnosis.mistakes.mistake import Answers, Formula, Mistake, Setting
from grader.diagnosis.mistakes.strides import strides_ignored
from grader.diagnosis.search import step_mistakes
from grader.operators.entry import Tensors

T = torch.Tensor
AS_FLOAT = float(torch.tensor(1e-5))  # 1e-5f in a double build
FAR = 1000  # deviations from 0: xhat has fewer digits there than grad_output


def _over_first(count: T) -> Callable[[T], T]:
    """The sum over the first axis, which has so many elements."""
    n = int(count)
    return lambda t: t.reshape(n, -1).sum(0).expand(n, -1).reshape(t.shape)


OWN = {"over_first": _over_first, "of_all": torch.sum, "of_lane": warp_sums.own_sums}
known = partial(step_mistakes.known, OWN)
UNBIASED = "variance: D = D - 1"
EPS_OUTSIDE = "rstd: eps = 0; rstd: variance = (sqrt(variance) + eps)**2"
NO_EPS = "rstd: eps = 0"
NO_WEIGHT, NO_BIAS = "output: weight = 1", "output: bias = 0"
NO_MEAN_TERM = "grad_input: average_dx = 0"
NO_RSTD_TERM = "grad_input: average_dx_xhat = 0"
SUMS = ("average_dx: D = 1", "average_dx_xhat: D = 1")


def _over(total: str, count: str) -> str:
    """Mean and variance over other elements."""
    steps = (f"{n}: total = {total}; {n}: D = {count}" for n in ("mean", "variance"))
    return "; ".join(steps)


def _of_rows(*texts: str) -> list[str]:
    """The sums over the rows with other rows of grad_output."""
    steps = ("grad_weight", "grad_bias")
    return [f"{step}: grad_output = {text}" for step in steps for text in texts]


# ---- other elements, other tensors ---------------------------------------------------


def _exchanged(s: Setting, inputs: Tensors) -> T | None:
    """Weight is added and bias multiplied."""
    names = {"weight": "bias", "bias": "weight"}
    other = {names.get(name, name): tensor for name, tensor in inputs.items()}
    return formulas.reference(s, other)


def _gradients_exchanged(s: Setting) -> Answers | None:
    x = s.inputs["input"]
    deviation = x.var(-1, correction=0).sqrt()
    far = bool((x.mean(-1).abs() > FAR * deviation).any())
    return None if far else formulas.exchanged("grad_weight", "grad_bias")(s)


def _saved(key: str) -> Formula:
    """Another number in place of rstd alone."""
    formula = step_mistakes.of_key(key, {})
    return lambda s: {n: t for n, t in formula(s).items() if n == "rstd"}


MISTAKES = (
    known(
        "variance_unbiased",
        "the squares are divided by D - 1: PyTorch's layer_norm divides by D",
        UNBIASED,
    ),
    known("eps_forgotten", "eps is missing: the result has eps = 0", NO_EPS),
    known(
        "eps_constant",
        "a constant is used in place of the argument eps",
        *(f"rstd: eps = {eps}" for eps in (1e-5, AS_FLOAT, 1e-6, 1e-8, 1e-12)),
    ),
    known(
        "deviation_saved",
        "this is the standard deviation, but rstd is 1 / standard deviation: "
        "rsqrt(variance + eps)",
        *map(_saved, ("rstd: rsqrt = sqrt", f"rstd: rsqrt = sqrt; {NO_EPS}")),
    ),
    known(
        "variance_saved",
        "this is the variance, but rstd is 1 over the root of the variance: "
        "rsqrt(variance + eps)",
        *map(_saved, ("rstd: rsqrt = same", f"rstd: rsqrt = same; {NO_EPS}")),
    ),
    known(
        "eps_outside_the_root",
        "eps is added to the standard deviation: add it to the variance, under the "
        "root",
        *(EPS_OUTSIDE, "xhat: rstd = rsqrt(variance) + eps"),
    ),
    known(
        "eps_squared",
        "eps is squared before it is added to the variance",
        "rstd: eps = eps**2",
    ),
    known(
        "unbiased_and_eps_outside",
        "two mistakes. The squares are divided by D - 1, not by D. eps is added to "
        "the standard deviation: add it to the variance, under the root",
        f"{UNBIASED}; {EPS_OUTSIDE}",
    ),
    known(
        "unbiased_and_eps_forgotten",
        "two mistakes: the squares are divided by D - 1 (PyTorch's layer_norm divides "
        "by D), and eps is missing under the root",
        f"{UNBIASED}; {NO_EPS}",
    ),
    known(
        "root_forgotten",
        "the result is divided by the variance, not by its root",
        "xhat: rstd = rstd**2",
    ),
    known(
        "mean_forgotten",
        "the mean is not subtracted, or it is subtracted only for the sum of squares",
        *("xhat: centred = input", "centred: mean = 0", "variance: centred = input"),
    ),
    known(
        "normalised_over_batch",
        "mean and variance are computed over the wrong elements: compute both for "
        "each row, over the last axis",
        *(_over("over_first(R)", "R"), _over("over_first(N)", "N")),
        _over("of_all", "R * D"),
    ),
    known(
        "sum_in_lane_zero",
        "every lane of a warp uses its own sum, but after __shfl_down_sync only lane 0 "
        "has the sum of all",
        "mean: total = of_lane; variance: total = of_lane",
    ),
    Mistake(
        "weight_and_bias_swapped",
        "weight and bias are exchanged",
        (formulas.forward_only(formulas.through(_exchanged)),),
    ),
    formulas.gradients_swapped(formulas.backward_only(_gradients_exchanged)),
    known(
        "weight_missing", "the weight is missing, everything else is right", NO_WEIGHT
    ),
    known(
        "weight_and_bias_missing",
        "weight and bias are both missing, everything else is right",
        f"{NO_WEIGHT}; {NO_BIAS}",
    ),
    known(
        "bias_missing",
        "the bias is missing, everything else is right",
        *(NO_BIAS, "grad_bias: grad_output = 0"),
    ),
    known(
        "weight_missing_in_backward",
        "forward multiplies by weight, so multiply the gradient of the input by "
        "weight too, once",
        *("dx: weight = 1", "dx: weight = weight**2"),
    ),
    known(
        "mean_term_missing",
        "the mean depends on every element of the row: the gradient through the mean "
        "is missing",
        NO_MEAN_TERM,
    ),
    known(
        "rstd_term_missing",
        "rstd depends on every element of the row: the gradient through rstd is "
        "missing",
        NO_RSTD_TERM,
    ),
    known(
        "statistics_constant",
        "mean and rstd are treated as constants: both depend on every element of the "
        "row",
        f"{NO_MEAN_TERM}; {NO_RSTD_TERM}",
    ),
    known(
        "sums_for_averages",
        "the average over the row is needed, not the sum",
        *("; ".join(SUMS), *SUMS),
    ),
    known(
        "rstd_missing_in_backward",
        "the gradient of the input is not multiplied by rstd",
        "grad_input: rstd = 1",
    ),
    known(
        "weight_gradient_not_normalised",
        "the gradient of the weight is the sum of grad_output * xhat (the normalised "
        "input), without another factor",
        *(f"grad_weight: xhat = {name}" for name in ("input", "centred", "output")),
    ),
    known(
        "rows_averaged",
        "the sum over the rows is needed, not the average",
        *_of_rows("grad_output / R", "grad_output / D"),
    ),
    known(
        "last_row_only",
        "the sum over the rows keeps only one row: is = used instead of +=?",
        *_of_rows("only_first_row(grad_output)", "only_last_row(grad_output)"),
    ),
    strides_ignored("input", "weight", "bias"),
)
