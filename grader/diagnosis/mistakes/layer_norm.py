# SPDX-License-Identifier: MIT
"""Known mistakes of layer_norm, most as changes of its steps (diagnosis/search)."""

from __future__ import annotations

from collections.abc import Callable

import torch

from grader.diagnosis.mistakes import formulas, warp_sums
from grader.diagnosis.mistakes.mistake import Answers, Formula, Mistake, Setting
from grader.diagnosis.mistakes.strides import strides_ignored
from grader.diagnosis.search import step_mistakes
from grader.diagnosis.search.named_steps import Change, Values
from grader.operators.entry import Tensors

T = torch.Tensor
norm = torch.nn.functional.layer_norm
AS_FLOAT = float(torch.tensor(1e-5))  # 1e-5f in a double build
FAR = 1000  # deviations from 0: xhat has fewer digits there than grad_output


def _forward(*uses: tuple[str, str, Change]) -> Formula:
    """Forward, in which some steps use something else."""
    return formulas.forward_only(step_mistakes.changed("layer_norm", *uses))


def _backward(*uses: tuple[str, str, Change]) -> Formula:
    """The same of backward."""
    return formulas.backward_only(step_mistakes.changed("layer_norm", *uses))


# ---- what a step uses instead --------------------------------------------------------


def _zero(t: T, _: Values) -> T:
    return torch.zeros_like(t)


def _one(t: T, _: Values) -> T:
    return torch.ones_like(t)


def _square(t: T, _: Values) -> T:
    return t * t


def _less_1(t: T, _: Values) -> T:
    return t - 1


def _value(name: str) -> Change:
    return lambda t, values: values[name].expand(t.shape)


def _deviation_and_eps(_: T, values: Values) -> T:
    """Where the variance and eps are meant: eps is added to the root."""
    return (values["variance"].sqrt() + values["eps"]).square()


def _own_mean(_: T, values: Values) -> T:
    """The mean that the lane of each element has."""
    return warp_sums.own_sums(values["input"]) / values["D"]


def _own_variance(_: T, values: Values) -> T:
    return warp_sums.own_sums(values["input - mean"].square()) / values["D"]


UNBIASED = ("variance", "D", _less_1)
EPS_OUTSIDE = ("rstd", "variance + eps", _deviation_and_eps)
NO_EPS = ("rstd", "eps", _zero)
NO_WEIGHT, NO_BIAS = ("output", "weight", _one), ("output", "bias", _zero)
NO_MEAN_TERM = ("grad_input", "average of dx", _zero)
NO_RSTD_TERM = ("grad_input", "average of dx*xhat", _zero)
SUM_OF_DX = ("average of dx", "D", _one)
SUM_OF_PRODUCTS = ("average of dx*xhat", "D", _one)


def _of_rows(change: Callable[[T], T]) -> tuple[Formula, ...]:
    """The sums over the rows with other rows of grad_output."""
    return tuple(
        _backward((step, "grad_output", lambda t, _: change(t)))
        for step in ("grad_weight", "grad_bias")
    )


def _eps(constant: float) -> Formula:
    return _forward(("rstd", "eps", lambda t, _: torch.full_like(t, constant)))


# ---- other elements, other tensors ---------------------------------------------------


def _normalised(of: Callable[[T, float], T]) -> Formula:
    """Another xhat of input and eps."""

    def forward(s: Setting, inputs: Tensors) -> T:
        xhat = of(inputs["input"], s.options["eps"])
        return xhat * inputs.get("weight", 1.0) + inputs.get("bias", 0.0)

    return formulas.forward_only(formulas.through(forward))


def _over_first_axis(t: T, eps: float) -> T:
    columns = t.movedim(0, -1)
    return norm(columns, columns.shape[-1:], eps=eps).movedim(-1, 0)


def _over_rows(t: T, eps: float) -> T:
    """Each feature over all rows."""
    return _over_first_axis(t.reshape(-1, t.shape[-1]), eps).reshape(t.shape)


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


def _of_output(s: Setting, inputs: Tensors) -> T:
    """A forward with the output in place of xhat."""
    made = formulas.reference(s, s.inputs)
    assert made is not None
    return made * inputs["weight"]


def _saved(change: Callable[[T, float], T]) -> Formula:
    """Another number in place of rstd, of the variance and eps."""

    def formula(t: T, s: Setting) -> T:
        eps = s.options["eps"]
        return change(t**-2 - eps, eps)

    return formulas.answered("rstd", formula)


MISTAKES = (
    Mistake(
        "variance_unbiased",
        "the squares are divided by D - 1: PyTorch's layer_norm divides by D",
        (_forward(UNBIASED),),
    ),
    Mistake(
        "eps_forgotten",
        "eps is missing: the result has eps = 0",
        (_forward(NO_EPS),),
    ),
    Mistake(
        "eps_constant",
        "a constant is used in place of the argument eps",
        tuple(map(_eps, (1e-5, AS_FLOAT, 1e-6, 1e-8, 1e-12))),
    ),
    Mistake(
        "deviation_saved",
        "this is the standard deviation, but rstd is 1 / standard deviation: "
        "rsqrt(variance + eps)",
        (
            _saved(lambda variance, eps: (variance + eps).sqrt()),
            _saved(lambda variance, _: variance.sqrt()),
        ),
    ),
    Mistake(
        "variance_saved",
        "this is the variance, but rstd is 1 over the root of the variance: "
        "rsqrt(variance + eps)",
        (
            _saved(lambda variance, eps: variance + eps),
            _saved(lambda variance, _: variance),
        ),
    ),
    Mistake(
        "eps_outside_the_root",
        "eps is added to the standard deviation: add it to the variance, under the "
        "root",
        (
            _forward(EPS_OUTSIDE),
            _forward(
                ("xhat", "rstd", lambda _, v: v["variance"].rsqrt() + v["eps"]),
            ),
        ),
    ),
    Mistake(
        "eps_squared",
        "eps is squared before it is added to the variance",
        (_forward(("rstd", "eps", _square)),),
    ),
    Mistake(
        "unbiased_and_eps_outside",
        "two mistakes. The squares are divided by D - 1, not by D. eps is added to "
        "the standard deviation: add it to the variance, under the root",
        (_forward(UNBIASED, EPS_OUTSIDE),),
    ),
    Mistake(
        "unbiased_and_eps_forgotten",
        "two mistakes: the squares are divided by D - 1 (PyTorch's layer_norm divides "
        "by D), and eps is missing under the root",
        (_forward(UNBIASED, NO_EPS),),
    ),
    Mistake(
        "root_forgotten",
        "the result is divided by the variance, not by its root",
        (_forward(("xhat", "rstd", _square)),),
    ),
    Mistake(
        "mean_forgotten",
        "the mean is not subtracted, or it is subtracted only for the sum of squares",
        (
            _forward(("xhat", "input - mean", _value("input"))),
            _forward(("input - mean", "mean", _zero)),
            _forward(("variance", "input - mean", _value("input"))),
        ),
    ),
    Mistake(
        "normalised_over_batch",
        "mean and variance are computed over the wrong elements: compute both for "
        "each row, over the last axis",
        (
            _normalised(_over_rows),
            _normalised(_over_first_axis),
            _normalised(lambda t, eps: norm(t, t.shape, eps=eps)),
        ),
    ),
    Mistake(
        "sum_in_lane_zero",
        "every lane of a warp uses its own sum, but after __shfl_down_sync only lane 0 "
        "has the sum of all",
        (
            _forward(
                ("input - mean", "mean", _own_mean), ("rstd", "variance", _own_variance)
            ),
        ),
    ),
    Mistake(
        "weight_and_bias_swapped",
        "weight and bias are exchanged",
        (formulas.forward_only(formulas.through(_exchanged)),),
    ),
    formulas.gradients_swapped(formulas.backward_only(_gradients_exchanged)),
    Mistake(
        "weight_missing",
        "the weight is missing, everything else is right",
        (_forward(NO_WEIGHT),),
    ),
    Mistake(
        "weight_and_bias_missing",
        "weight and bias are both missing, everything else is right",
        (_forward(NO_WEIGHT, NO_BIAS),),
    ),
    Mistake(
        "bias_missing",
        "the bias is missing, everything else is right",
        (
            _forward(NO_BIAS),
            formulas.answered("grad_bias", lambda t, _: torch.zeros_like(t)),
        ),
    ),
    Mistake(
        "weight_missing_in_backward",
        "forward multiplies by weight, so multiply the gradient of the input by "
        "weight too, once",
        (_backward(("dx", "weight", _one)), _backward(("dx", "weight", _square))),
    ),
    Mistake(
        "mean_term_missing",
        "the mean depends on every element of the row: the gradient through the mean "
        "is missing",
        (_backward(NO_MEAN_TERM),),
    ),
    Mistake(
        "rstd_term_missing",
        "rstd depends on every element of the row: the gradient through rstd is "
        "missing",
        (_backward(NO_RSTD_TERM),),
    ),
    Mistake(
        "statistics_constant",
        "mean and rstd are treated as constants: both depend on every element of the "
        "row",
        (_backward(NO_MEAN_TERM, NO_RSTD_TERM),),
    ),
    Mistake(
        "sums_for_averages",
        "the average over the row is needed, not the sum",
        (
            _backward(SUM_OF_DX, SUM_OF_PRODUCTS),
            _backward(SUM_OF_DX),
            _backward(SUM_OF_PRODUCTS),
        ),
    ),
    Mistake(
        "rstd_missing_in_backward",
        "the gradient of the input is not multiplied by rstd",
        (_backward(("grad_input", "rstd", _one)),),
    ),
    Mistake(
        "weight_gradient_not_normalised",
        "the gradient of the weight is the sum of grad_output * xhat (the normalised "
        "input), without another factor",
        (
            _backward(("grad_weight", "xhat", _value("input"))),
            _backward(("grad_weight", "xhat", _value("input - mean"))),
            formulas.only("grad_weight", formulas.through(_of_output)),
        ),
    ),
    Mistake(
        "rows_averaged",
        "the sum over the rows is needed, not the average",
        (*_of_rows(lambda t: t / len(t)), *_of_rows(lambda t: t / t.shape[1])),
    ),
    Mistake(
        "last_row_only",
        "the sum over the rows keeps only one row: is = used instead of +=?",
        (
            *_of_rows(lambda t: formulas.alone(t, 0, 0)),
            *_of_rows(lambda t: formulas.alone(t, 0, -1)),
        ),
    ),
    strides_ignored("input", "weight", "bias"),
)
