# SPDX-License-Identifier: MIT
"""Known mistakes of layer_norm.

What backward forgets is PyTorch's gradient of a forward in which mean or rstd is cut
off the graph.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import torch

from grader.diagnosis.mistakes import formulas
from grader.diagnosis.mistakes.mistake import Answers, Formula, Mistake, Setting
from grader.diagnosis.mistakes.strides import strides_ignored
from grader.operators.entry import Tensors, numel

T = torch.Tensor
Change = Callable[[T], T]
norm = torch.nn.functional.layer_norm
AS_FLOAT = float(torch.tensor(1e-5))  # 1e-5f in a double build
FAR = 1000  # deviations from 0: xhat has fewer digits there than grad_output


def _scaled(xhat: T, inputs: Tensors) -> T:
    """What becomes of a wrong xhat."""
    if "weight" in inputs:
        xhat = xhat * inputs["weight"]
    return xhat + inputs["bias"] if "bias" in inputs else xhat


def _of(xhat: Callable[[T, float], T]) -> Formula:
    """A wrong xhat of input and eps."""

    def forward(s: Setting, inputs: Tensors) -> T:
        return _scaled(xhat(inputs["input"], s.options["eps"]), inputs)

    return formulas.forward_only(formulas.through(forward))


def _last(t: T) -> list[int]:
    return [t.shape[-1]]


def _centered(t: T) -> T:
    return t - t.mean(-1, keepdim=True)


def _deviation(t: T) -> T:
    """The standard deviation without eps, in two passes: torch.std loses digits."""
    return _centered(t).square().mean(-1, keepdim=True).sqrt()


# ---- statistics ----------------------------------------------------------------------


def _unbiased(t: T, eps: float) -> T:
    """Squares divided by D - 1: another eps, and all of it smaller."""
    D = t.shape[-1]
    if D == 1:
        return torch.full_like(t, formulas.UNKNOWN)  # 0 / 0
    share = (D - 1) / D
    return norm(t, _last(t), eps=eps * share) * math.sqrt(share)


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
    far = bool((x.mean(-1).abs() > FAR * _deviation(x)[..., 0]).any())
    if far or not all(name in s.truth for name in pair):
        return dict.fromkeys(name for name in pair if name in s.truth)
    return {pair[0]: s.truth[pair[1]], pair[1]: s.truth[pair[0]]}


def _without(name: str) -> Formula:
    """The output as if weight or bias were absent."""

    def change(s: Setting) -> Setting:
        if name not in s.inputs:
            return s
        fill = torch.ones_like if name == "weight" else torch.zeros_like
        return s.input(**{name: fill(s.inputs[name])})

    return formulas.altered(change)


def _weight_again(s: Setting) -> Setting:
    weight = s.inputs.get("weight")
    return s if weight is None else s.input(weight=weight * weight)


# ---- backward ------------------------------------------------------------------------


def _cut(t: T) -> T:
    return t.detach()


def _stay(t: T) -> T:
    return t


def _parts(mean: Change, rstd: Change) -> formulas.Forward:
    """The right forward; `mean` and `rstd` say what autograd sees of the two."""

    def forward(s: Setting, inputs: Tensors) -> T:
        x = inputs["input"]
        of_mean = x.mean(-1, keepdim=True)
        variance = _centered(x).square().mean(-1, keepdim=True)
        of_rstd = (variance + s.options["eps"]).rsqrt()
        return _scaled((x - mean(of_mean)) * rstd(of_rstd), inputs)

    return forward


def _input_gradient(mean: Change, rstd: Change) -> Formula:
    return formulas.only("grad_input", formulas.through(_parts(mean, rstd)))


def _sums_for_averages() -> Iterator[Formula]:
    """D times what mean or rstd bring back, or both do."""

    def grown(cut: Formula) -> Formula:
        """What is missing where they are cut off counts D times."""

        def formula(s: Setting) -> Answers:
            less = (cut(s) or {}).get("grad_input")
            if less is None:
                return {}
            share = s.truth["grad_input"] - less
            return {"grad_input": less + s.inputs["input"].shape[-1] * share}

        return formulas.backward_only(formula)

    for mean, rstd in ((_cut, _cut), (_cut, _stay), (_stay, _cut)):
        yield grown(formulas.through(_parts(mean, rstd)))


def _not_normalised() -> Iterator[Formula]:
    """grad_weight of another factor than xhat."""

    def raw(s: Setting, inputs: Tensors) -> T:
        return _scaled(inputs["input"], inputs)

    def centered(s: Setting, inputs: Tensors) -> T:
        return _scaled(_centered(inputs["input"]), inputs)

    def output(s: Setting, inputs: Tensors) -> T:
        made = formulas.reference(s, s.inputs)
        assert made is not None
        return _scaled(made, inputs)

    for forward in (raw, centered, output):
        yield formulas.only("grad_weight", formulas.through(forward))


def _without_rstd(t: T, s: Setting) -> T:
    x = s.inputs["input"]
    made: T = t * (_deviation(x) ** 2 + s.options["eps"]).sqrt()
    return made


# ---- what forward saves --------------------------------------------------------------


def _saved(change: Callable[[T, float], T]) -> Formula:
    """Another number in place of rstd, of the variance and eps."""

    def formula(t: T, s: Setting) -> T:
        eps = s.options["eps"]
        return change(t**-2 - eps, eps)

    return formulas.answered("rstd", formula)


# ---- rows ----------------------------------------------------------------------------


def _averaged() -> Iterator[Formula]:
    for name in ("grad_weight", "grad_bias"):

        def rows(t: T, s: Setting) -> T:
            return t / max(1, numel(s.grads[0].shape[:-1]))

        def features(t: T, s: Setting) -> T:
            return t / s.grads[0].shape[-1]

        yield formulas.answered(name, rows)
        yield formulas.answered(name, features)


def _one_row() -> Iterator[Formula]:
    """The sums know the first row only, or the last."""
    for at in (0, -1):

        def alone(g: T, a: int = at) -> T:
            if not g.numel():
                return g
            made = torch.zeros_like(g).reshape(-1, g.shape[-1])
            made[a] = g.reshape(-1, g.shape[-1])[a]
            return made.reshape(g.shape)

        def change(s: Setting, one: Change = alone) -> Setting:
            return s.grad(one)

        for name in ("grad_weight", "grad_bias"):
            yield formulas.only(name, formulas.altered(change))


MISTAKES = (
    Mistake(
        "variance_unbiased",
        "the squares are divided by D - 1: PyTorch's layer_norm divides by D",
        (_of(_unbiased),),
    ),
    Mistake(
        "eps_forgotten",
        "this comes out with an eps of 0",
        (
            _with_eps(0.0),
            _of(lambda t, eps: _centered(t) / _deviation(t)),
        ),
    ),
    Mistake(
        "eps_constant",
        "this comes out with a constant in place of the argument eps",
        tuple(map(_with_eps, (1e-5, AS_FLOAT, 1e-6, 1e-8, 1e-12))),
    ),
    Mistake(
        "deviation_saved",
        "this is the standard deviation: rstd is 1 over it, rsqrt(variance + eps)",
        (
            _saved(lambda variance, eps: (variance + eps).sqrt()),
            _saved(lambda variance, _: variance.sqrt()),
        ),
    ),
    Mistake(
        "variance_saved",
        "this is the variance: rstd is 1 over its root, rsqrt(variance + eps)",
        (
            _saved(lambda variance, eps: variance + eps),
            _saved(lambda variance, _: variance),
        ),
    ),
    Mistake(
        "eps_outside_the_root",
        "eps is added to the standard deviation: it belongs to the variance, under the "
        "root",
        (
            _of(lambda t, eps: _centered(t) / (_deviation(t) + eps)),
            _of(lambda t, eps: _centered(t) * (1 / _deviation(t) + eps)),
            _of(lambda t, eps: norm(t, _last(t), eps=eps * eps)),
        ),
    ),
    Mistake(
        "root_forgotten",
        "this is divided by the variance, not by its root",
        (_of(lambda t, eps: _centered(t) / (_deviation(t) ** 2 + eps)),),
    ),
    Mistake(
        "mean_forgotten",
        "the mean is not taken off, or only where the squares are summed",
        (
            _of(lambda t, eps: t / (_deviation(t) ** 2 + eps).sqrt()),
            _of(lambda t, eps: torch.nn.functional.rms_norm(t, _last(t), eps=eps)),
            _of(
                lambda t, eps: (
                    _centered(t) / (t.square().mean(-1, keepdim=True) + eps).sqrt()
                )
            ),
        ),
    ),
    Mistake(
        "normalised_over_batch",
        "mean and variance run over other elements: each row has its own, over its "
        "last axis",
        (_of(_over_rows), _of(_over_first_axis), _of(_over_all)),
    ),
    Mistake(
        "weight_and_bias_swapped",
        "weight is taken for bias and bias for weight",
        (formulas.forward_only(formulas.through(_exchanged)),),
    ),
    Mistake(
        "gradients_swapped",
        "each gradient holds what the other one should",
        (formulas.backward_only(_gradients_exchanged),),
        together=True,
    ),
    Mistake(
        "weight_missing",
        "the weight is missing, everything else is right",
        (formulas.forward_only(_without("weight")),),
    ),
    Mistake(
        "bias_missing",
        "the bias is missing, everything else is right",
        (
            formulas.forward_only(_without("bias")),
            formulas.answered("grad_bias", lambda t, _: torch.zeros_like(t)),
        ),
    ),
    Mistake(
        "weight_missing_in_backward",
        "forward multiplies by weight, so the gradient of the input does too, once",
        (
            formulas.only("grad_input", _without("weight")),
            formulas.only("grad_input", formulas.altered(_weight_again)),
        ),
    ),
    Mistake(
        "mean_term_missing",
        "the mean depends on every element of the row: what it brings back is missing",
        (_input_gradient(_cut, _stay),),
    ),
    Mistake(
        "rstd_term_missing",
        "rstd depends on every element of the row: what it brings back is missing",
        (_input_gradient(_stay, _cut),),
    ),
    Mistake(
        "statistics_constant",
        "mean and rstd are taken for constants: both depend on every element of the "
        "row",
        (_input_gradient(_cut, _cut),),
    ),
    Mistake(
        "sums_for_averages",
        "a sum over the row stands where an average belongs",
        tuple(_sums_for_averages()),
    ),
    Mistake(
        "rstd_missing_in_backward",
        "the gradient of the input is not multiplied by rstd",
        (formulas.answered("grad_input", _without_rstd),),
    ),
    Mistake(
        "weight_gradient_not_normalised",
        "the gradient of the weight is a sum of grad_output times xhat, the normalised "
        "input, and of no other factor",
        tuple(_not_normalised()),
    ),
    Mistake(
        "rows_averaged",
        "an average stands where a sum over the rows belongs",
        tuple(_averaged()),
    ),
    Mistake(
        "last_row_only",
        "one row stays of a sum over the rows: it is set where it should grow",
        tuple(_one_row()),
    ),
    strides_ignored("input", "weight", "bias"),
)
