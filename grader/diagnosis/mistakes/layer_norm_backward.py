# SPDX-License-Identifier: MIT
"""Known mistakes of layer_norm's backward.

A backward that forgets a term has PyTorch's gradient of another forward. There mean or
rstd is detached from the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from grader.diagnosis.mistakes import formulas
from grader.diagnosis.mistakes.mistake import Answers, Formula, Mistake, Setting
from grader.operators.entry import Tensors, numel

T = torch.Tensor
Change = Callable[[T], T]


def scaled(xhat: T, inputs: Tensors) -> T:
    """What becomes of a wrong xhat."""
    if "weight" in inputs:
        xhat = xhat * inputs["weight"]
    return xhat + inputs["bias"] if "bias" in inputs else xhat


def centered(t: T) -> T:
    """Each row less its mean."""
    return t - t.mean(dim=-1, keepdim=True)


def deviation(t: T) -> T:
    """The standard deviation without eps, in two passes: torch.std loses digits."""
    return centered(t).square().mean(dim=-1, keepdim=True).sqrt()


def without(name: str) -> Formula:
    """The output as if weight or bias were absent."""

    def change(s: Setting) -> Setting:
        if name not in s.inputs:
            return s
        fill = torch.ones_like if name == "weight" else torch.zeros_like
        return s.input(**{name: fill(s.inputs[name])})

    return formulas.altered(change)


# ---- what is cut off -----------------------------------------------------------------


def _weight_again(s: Setting) -> Setting:
    weight = s.inputs.get("weight")
    return s if weight is None else s.input(weight=weight * weight)


def _cut(t: T) -> T:
    return t.detach()


def _stay(t: T) -> T:
    return t


def _parts(mean: Change, rstd: Change) -> formulas.Forward:
    """The right forward; `mean` and `rstd` say what autograd sees of the two."""

    def forward(s: Setting, inputs: Tensors) -> T:
        x = inputs["input"]
        of_mean = x.mean(dim=-1, keepdim=True)
        variance = centered(x).square().mean(dim=-1, keepdim=True)
        of_rstd = (variance + s.options["eps"]).rsqrt()
        return scaled((x - mean(of_mean)) * rstd(of_rstd), inputs)

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
        return scaled(inputs["input"], inputs)

    def less_mean(s: Setting, inputs: Tensors) -> T:
        return scaled(centered(inputs["input"]), inputs)

    def output(s: Setting, inputs: Tensors) -> T:
        made = formulas.reference(s, s.inputs)
        assert made is not None
        return scaled(made, inputs)

    for forward in (raw, less_mean, output):
        yield formulas.only("grad_weight", formulas.through(forward))


def _without_rstd(t: T, s: Setting) -> T:
    x = s.inputs["input"]
    made: T = t * (deviation(x) ** 2 + s.options["eps"]).sqrt()
    return made


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
            rows = g.reshape(-1, g.shape[-1])
            return formulas.alone(rows, 0, a).reshape(g.shape)

        def change(s: Setting, one: Change = alone) -> Setting:
            return s.grad(one)

        for name in ("grad_weight", "grad_bias"):
            yield formulas.only(name, formulas.altered(change))


BACKWARD_MISTAKES = (
    Mistake(
        "weight_missing_in_backward",
        "forward multiplies by weight, so multiply the gradient of the input by "
        "weight too, once",
        (
            formulas.only("grad_input", without("weight")),
            formulas.only("grad_input", formulas.altered(_weight_again)),
        ),
    ),
    Mistake(
        "mean_term_missing",
        "the mean depends on every element of the row: the gradient through the mean "
        "is missing",
        (_input_gradient(_cut, _stay),),
    ),
    Mistake(
        "rstd_term_missing",
        "rstd depends on every element of the row: the gradient through rstd is "
        "missing",
        (_input_gradient(_stay, _cut),),
    ),
    Mistake(
        "statistics_constant",
        "mean and rstd are treated as constants: both depend on every element of the "
        "row",
        (_input_gradient(_cut, _cut),),
    ),
    Mistake(
        "sums_for_averages",
        "the average over the row is needed, not the sum",
        tuple(_sums_for_averages()),
    ),
    Mistake(
        "rstd_missing_in_backward",
        "the gradient of the input is not multiplied by rstd",
        (formulas.answered("grad_input", _without_rstd),),
    ),
    Mistake(
        "weight_gradient_not_normalised",
        "the gradient of the weight is the sum of grad_output * xhat (the normalised "
        "input), without another factor",
        tuple(_not_normalised()),
    ),
    Mistake(
        "rows_averaged",
        "the sum over the rows is needed, not the average",
        tuple(_averaged()),
    ),
    Mistake(
        "last_row_only",
        "the sum over the rows keeps only one row: is = used instead of +=?",
        tuple(_one_row()),
    ),
)
