# SPDX-License-Identifier: MIT
"""Known mistakes of layer_norm: the mistakes of forward, and the list of all."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import torch

from grader.diagnosis.mistakes import formulas, warp_sums
from grader.diagnosis.mistakes.layer_norm_backward import (
    BACKWARD_MISTAKES,
    centered,
    deviation,
    scaled,
    without,
)
from grader.diagnosis.mistakes.mistake import Answers, Formula, Mistake, Setting
from grader.diagnosis.mistakes.strides import strides_ignored
from grader.operators.entry import Tensors

T = torch.Tensor
Change = Callable[[T], T]
norm = torch.nn.functional.layer_norm
AS_FLOAT = float(torch.tensor(1e-5))  # 1e-5f in a double build
FAR = 1000  # deviations from 0: xhat has fewer digits there than grad_output


def _of(xhat: Callable[[T, float], T]) -> Formula:
    """A wrong xhat of input and eps."""

    def forward(s: Setting, inputs: Tensors) -> T:
        return scaled(xhat(inputs["input"], s.options["eps"]), inputs)

    return formulas.forward_only(formulas.through(forward))


def _last(t: T) -> list[int]:
    return [t.shape[-1]]


# ---- statistics ----------------------------------------------------------------------


def _unbiased(t: T, eps: float) -> T:
    """Squares divided by D - 1: another eps, and all of it smaller."""
    D = t.shape[-1]
    if D == 1:
        return torch.full_like(t, formulas.UNKNOWN)  # 0 / 0
    share = (D - 1) / D
    return norm(t, _last(t), eps=eps * share) * math.sqrt(share)


def _unbiased_eps_outside(t: T, eps: float) -> T:
    D = t.shape[-1]
    if D == 1:
        return torch.full_like(t, formulas.UNKNOWN)  # 0 / 0
    return centered(t) / (deviation(t) * math.sqrt(D / (D - 1)) + eps)


def _normalised_alone(s: Setting) -> Setting:
    """Without weight and bias."""
    rest = {k: v for k, v in s.inputs.items() if k not in ("weight", "bias")}
    return replace(s, inputs=rest)


def _with_eps(constant: float) -> Formula:
    return formulas.forward_only(formulas.altered(lambda s: s.option(eps=constant)))


def _over_rows(t: T, eps: float) -> T:
    """Each feature over all rows."""
    columns = t.reshape(-1, t.shape[-1]).mT  # (D, R)
    return norm(columns, _last(columns), eps=eps).mT.reshape(t.shape)


def _over_first_axis(t: T, eps: float) -> T:
    columns = t.movedim(0, -1)
    return norm(columns, _last(columns), eps=eps).movedim(-1, 0)


def _over_all(t: T, eps: float) -> T:
    return norm(t, list(t.shape), eps=eps)


def _of_own_lane(t: T, eps: float) -> T:
    """Each element takes the mean and the variance that its lane of a warp has."""
    D = t.shape[-1]
    less_mean = t - warp_sums.own_sums(t) / D
    return less_mean * (warp_sums.own_sums(less_mean.square()) / D + eps).rsqrt()


# ---- weight and bias -----------------------------------------------------------------


def _exchanged(s: Setting, inputs: Tensors) -> T:
    """Weight is added and bias multiplied."""
    names = {"weight": "bias", "bias": "weight"}
    other = {names.get(name, name): tensor for name, tensor in inputs.items()}
    made = formulas.reference(s, other)
    assert made is not None
    return made


def _gradients_exchanged(s: Setting) -> Answers:
    pair = "grad_weight", "grad_bias"
    x = s.inputs["input"]
    far = bool((x.mean(-1).abs() > FAR * deviation(x)[..., 0]).any())
    if far or not all(name in s.truth for name in pair):
        return dict.fromkeys(name for name in pair if name in s.truth)
    return {pair[0]: s.truth[pair[1]], pair[1]: s.truth[pair[0]]}


# ---- what forward saves --------------------------------------------------------------


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
        (_of(_unbiased),),
    ),
    Mistake(
        "eps_forgotten",
        "eps is missing: the result has eps = 0",
        (_with_eps(0.0), _of(lambda t, eps: centered(t) / deviation(t))),
    ),
    Mistake(
        "eps_constant",
        "a constant is used in place of the argument eps",
        tuple(map(_with_eps, (1e-5, AS_FLOAT, 1e-6, 1e-8, 1e-12))),
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
            _of(lambda t, eps: centered(t) / (deviation(t) + eps)),
            _of(lambda t, eps: centered(t) * (1 / deviation(t) + eps)),
        ),
    ),
    Mistake(
        "eps_squared",
        "eps is squared before it is added to the variance",
        (_of(lambda t, eps: norm(t, _last(t), eps=eps * eps)),),
    ),
    Mistake(
        "unbiased_and_eps_outside",
        "two mistakes. The squares are divided by D - 1, not by D. eps is added to "
        "the standard deviation: add it to the variance, under the root",
        (_of(_unbiased_eps_outside),),
    ),
    Mistake(
        "unbiased_and_eps_forgotten",
        "two mistakes: the squares are divided by D - 1 (PyTorch's layer_norm divides "
        "by D), and eps is missing under the root",
        (_of(lambda t, _: _unbiased_eps_outside(t, 0.0)),),
    ),
    Mistake(
        "root_forgotten",
        "the result is divided by the variance, not by its root",
        (_of(lambda t, eps: centered(t) / (deviation(t) ** 2 + eps)),),
    ),
    Mistake(
        "mean_forgotten",
        "the mean is not subtracted, or it is subtracted only for the sum of squares",
        (
            _of(lambda t, eps: t / (deviation(t) ** 2 + eps).sqrt()),
            _of(lambda t, eps: torch.nn.functional.rms_norm(t, _last(t), eps=eps)),
            _of(
                lambda t, eps: (
                    centered(t) / (t.square().mean(-1, keepdim=True) + eps).sqrt()
                )
            ),
        ),
    ),
    Mistake(
        "normalised_over_batch",
        "mean and variance are computed over the wrong elements: compute both for "
        "each row, over the last axis",
        (_of(_over_rows), _of(_over_first_axis), _of(_over_all)),
    ),
    Mistake(
        "sum_in_lane_zero",
        "every lane of a warp uses its own sum, but after __shfl_down_sync only lane 0 "
        "has the sum of all",
        (_of(_of_own_lane),),
    ),
    Mistake(
        "weight_and_bias_swapped",
        "weight and bias are exchanged",
        (formulas.forward_only(formulas.through(_exchanged)),),
    ),
    formulas.gradients_swapped([formulas.backward_only(_gradients_exchanged)]),
    Mistake(
        "weight_missing",
        "the weight is missing, everything else is right",
        (formulas.forward_only(without("weight")),),
    ),
    Mistake(
        "weight_and_bias_missing",
        "weight and bias are both missing, everything else is right",
        (formulas.forward_only(formulas.altered(_normalised_alone)),),
    ),
    Mistake(
        "bias_missing",
        "the bias is missing, everything else is right",
        (
            formulas.forward_only(without("bias")),
            formulas.answered("grad_bias", lambda t, _: torch.zeros_like(t)),
        ),
    ),
    *BACKWARD_MISTAKES,
    strides_ignored("input", "weight", "bias"),
)
