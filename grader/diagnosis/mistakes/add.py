# SPDX-License-Identifier: MIT
"""Known mistakes of add."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import torch

from grader.diagnosis.mistakes import formulas
from grader.diagnosis.mistakes.mistake import Answers, Formula, Mistake, Setting
from grader.diagnosis.mistakes.strides import strides_ignored
from grader.operators.entry import Tensors

T = torch.Tensor
Weighted = Callable[[T, T, float], T]


def _output(made: Weighted) -> Formula:
    """A wrong sum of both operands."""

    def forward(s: Setting, inputs: Tensors) -> T:
        return made(inputs["input"], inputs["other"], s.options["alpha"])

    return formulas.forward_only(formulas.through(forward))


def _scaled(name: str, factor: Callable[[float], float]) -> Formula:
    """A right gradient times something of alpha."""
    return formulas.answered(name, lambda t, s: t * factor(s.options["alpha"]))


def _without_alpha(s: Setting) -> Answers:
    """grad_other by an alpha of 1."""
    if "grad_other" not in s.truth:
        return {}
    one = s.option(alpha=1.0)
    return {"grad_other": _summed(one, "other")}


def _summed(s: Setting, name: str) -> T:
    """The gradient of one operand."""
    leaves = {k: t.detach().requires_grad_() for k, t in s.inputs.items()}
    made = torch.add(leaves["input"], leaves["other"], alpha=s.options["alpha"])
    return torch.autograd.grad(made, leaves[name], s.grads[0])[0]


def _gradients_swapped() -> Iterator[Formula]:
    def by_alpha(s: Setting) -> Answers:
        made: Answers = {}
        if "grad_input" in s.truth:
            made["grad_input"] = s.truth["grad_input"] * s.options["alpha"]
        return {**made, **_without_alpha(s)}

    yield formulas.backward_only(by_alpha)
    yield formulas.exchanged("grad_input", "grad_other")


# ---- broadcasting --------------------------------------------------------------------


def _stretched(s: Setting, name: str) -> tuple[list[int], list[int]]:
    """The axes of the output that the operand lacks, and those it has with size 1."""
    shape, whole = s.inputs[name].shape, s.grads[0].shape
    lacks = len(whole) - len(shape)
    ones = [
        d for d in range(lacks, len(whole)) if shape[d - lacks] == 1 and whole[d] != 1
    ]
    return list(range(lacks)), ones


def _reduced(name: str, reduce: Callable[[T, list[int]], T], kinds: str) -> Formula:
    """A gradient in which some stretched axes are not summed but reduced so.

    kinds: the axes the operand lacks, those of size 1, or both.
    """

    def formula(s: Setting) -> Answers:
        if f"grad_{name}" not in s.truth:
            return {}
        lacks, ones = _stretched(s, name)
        wrong = {"lacks": lacks, "ones": ones, "both": [*lacks, *ones]}[kinds]
        right = [d for d in (*lacks, *ones) if d not in wrong]
        grad = s.grads[0] * (s.options["alpha"] if name == "other" else 1.0)
        if not grad.numel():
            return {}
        if wrong:
            grad = reduce(grad, wrong)
        if right:
            grad = grad.sum(right, keepdim=True)
        return {f"grad_{name}": grad.reshape(s.inputs[name].shape)}

    return formulas.backward_only(formula)


def _pick(at: int) -> Callable[[T, list[int]], T]:
    def picked(t: T, axes: list[int]) -> T:
        for d in axes:
            t = t[(slice(None),) * d + (slice(at, at + 1 or None),)]
        return t

    return picked


def _mean(t: T, axes: list[int]) -> T:
    return t.mean(axes, keepdim=True)


def _every(reduce: Callable[[T, list[int]], T]) -> Iterator[Formula]:
    for name, kinds in itertools.product(("input", "other"), ("both", "lacks", "ones")):
        yield _reduced(name, reduce, kinds)


def _alpha_and_sum_missing() -> Iterator[Formula]:
    """Two mistakes: an alpha of 1, and one position of each stretched axis."""
    for at in (0, -1):
        other = _reduced("other", _pick(at), "both")

        def alone(s: Setting, wrong: Formula = other) -> Answers | None:
            return wrong(s.option(alpha=1.0))

        yield formulas.both(_reduced("input", _pick(at), "both"), alone)


def _first_elements(name: str) -> Formula:
    """The first elements of grad_output in memory order, as many as fit."""

    def formula(s: Setting) -> Answers:
        if f"grad_{name}" not in s.truth or not s.grads[0].numel():
            return {}
        operand = s.inputs[name]
        grad = s.grads[0] * (s.options["alpha"] if name == "other" else 1.0)
        return {
            f"grad_{name}": grad.flatten()[: operand.numel()].reshape(operand.shape)
        }

    return formulas.backward_only(formula)


# ---- which element meets which -------------------------------------------------------


def _at_first_axis(laid: Callable[[T, list[int]], T]) -> Formula:
    """Operands of fewer axes are laid along the first axes of the output."""

    def forward(s: Setting, inputs: Tensors) -> T:
        whole = list(torch.broadcast_shapes(*(t.shape for t in inputs.values())))
        lhs, rhs = laid(inputs["input"], whole), laid(inputs["other"], whole)
        return torch.add(lhs, rhs, **s.options)

    return formulas.through(forward)


def _steps(t: T) -> list[int]:
    return [0 if n == 1 else step for n, step in zip(t.shape, t.stride())]


def _by_axes(t: T, whole: list[int]) -> T:
    """Axis d of the operand is axis d of the output."""
    steps = _steps(t) + [0] * (len(whole) - t.dim())
    return formulas.taken_for(t, whole, steps)


def _by_position(t: T, whole: list[int]) -> T:
    """The output's position is divided by as many first axes as the operand has."""
    flat = formulas.taken_for(t, whole[: t.dim()], _steps(t)).reshape(-1)
    position = torch.arange(math.prod(whole)) % flat.numel()
    return flat[position].reshape(whole)


def _last_tile() -> Iterator[Formula]:
    """The last tile of a row is never written, or of a whole tensor without gaps; of a
    sum over rows it stays zero.
    """
    for tile in formulas.TILES:

        def output(t: T, s: Setting, n: int = tile) -> T:
            plain = all(
                one.is_contiguous() and one.shape == t.shape
                for one in s.inputs.values()
            )
            return _forgotten(t, n, formulas.UNWRITTEN, plain=plain)

        def gradient(t: T, s: Setting, n: int = tile) -> T:
            grad = s.grads[0]
            plain = grad.is_contiguous() and t.numel() == grad.numel()
            if not plain and (not t.dim() or t.shape[-1] == 1):
                return t  # the row is one sum
            return _forgotten(t, n, formulas.UNWRITTEN if plain else 0.0, plain=plain)

        yield formulas.answered("output", output)
        yield formulas.both(
            formulas.answered("grad_input", gradient),
            formulas.answered("grad_other", gradient),
        )
    for name in ("output", "grad_input", "grad_other"):
        yield from formulas.tails(name, [], [0])


def _forgotten(t: T, tile: int, fill: float, *, plain: bool) -> T:
    """The last tile of everything, or of each row."""
    if plain:
        return formulas.forget_flat(t, 0, tile, fill)
    return formulas.forget(t, [-1], tile, fill)


MISTAKES = (
    Mistake(
        "alpha_ignored",
        "alpha is used as if it were 1",
        (_output(lambda a, b, alpha: a + b),),
    ),
    Mistake(
        "alpha_on_input",
        "alpha multiplies the first operand: it must multiply the second",
        (_output(lambda a, b, alpha: alpha * a + b),),
    ),
    formulas.gradients_swapped(*_gradients_swapped()),
    Mistake(
        "alpha_twice",
        "alpha is used twice",
        (
            _output(lambda a, b, alpha: a + alpha * alpha * b),
            _output(lambda a, b, alpha: alpha * (a + b)),
            _output(lambda a, b, alpha: alpha * a + alpha * alpha * b),
            _scaled("grad_other", lambda alpha: alpha),
            _scaled("grad_input", lambda alpha: alpha),
        ),
    ),
    Mistake(
        "alpha_missing_in_backward",
        "forward multiplies by alpha, so its gradient does too",
        (formulas.backward_only(_without_alpha),),
    ),
    Mistake(
        "broadcast_not_summed",
        "the gradient uses one position of a stretched axis, but all positions have "
        "read the same element in forward",
        (
            *_every(_pick(0)),
            *_every(_pick(-1)),
            _first_elements("input"),
            _first_elements("other"),
        ),
    ),
    Mistake(
        "broadcast_averaged",
        "a stretched axis needs a sum, not an average",
        tuple(_every(_mean)),
    ),
    Mistake(
        "alpha_and_sum_missing",
        "two mistakes. alpha is used as if it were 1. The gradient uses one position "
        "of a stretched axis, but all positions have read the same element in forward",
        tuple(_alpha_and_sum_missing()),
    ),
    Mistake(
        "aligned_at_first_axis",
        "the operands are aligned at their first axis: PyTorch aligns them at the last "
        "one",
        (_at_first_axis(_by_axes), _at_first_axis(_by_position)),
    ),
    Mistake(
        "last_tile_forgotten",
        "the last elements are left out: they do not fill a tile or a vector",
        tuple(_last_tile()),
    ),
    strides_ignored("input", "other"),
)
