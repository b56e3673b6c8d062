# SPDX-License-Identifier: MIT
"""Known mistakes of add, most as changes of its steps (grader/diagnosis/search)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from functools import partial

import torch

from grader.diagnosis.mistakes import formulas
from grader.diagnosis.mistakes.mistake import Formula, Mistake, Setting
from grader.diagnosis.mistakes.strides import strides_ignored
from grader.diagnosis.search import step_mistakes
from grader.operators.entry import Tensors

T = torch.Tensor
STEPS = ("grad_input", "grad_other")


def _first_terms(t: T, operand: T) -> T:
    """The first terms in memory order, as many as the operand has elements."""
    sizes = [1] * (t.dim() - operand.dim()) + list(operand.shape)
    return t.flatten()[: operand.numel()].reshape(sizes)


known = partial(step_mistakes.known, {"first_terms": _first_terms})


def _sums(step: str, how: str) -> tuple[str, ...]:
    """Another reduction of all stretched axes, or of the axes of one kind."""
    each = tuple(f"{step}: sum_of_{axes} = {how}_of_{axes}" for axes in ("new", "1"))
    return "; ".join(each), *each


def _of_both(*ways: str) -> Iterator[str]:
    """The same of both gradients."""
    for step, how in itertools.product(STEPS, ways):
        yield from _sums(step, how)


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


def _without_tail(t: T, s: Setting, *, tile: int) -> T:
    """The last tile of a row is never written, or of a whole tensor without gaps; of a
    sum over rows it stays zero.
    """
    if s.grads:
        plain = s.grads[0].is_contiguous() and s.grads[0].numel() == t.numel()
    else:
        given = s.inputs.values()
        plain = all(x.is_contiguous() and x.shape == t.shape for x in given)
    if plain:
        return formulas.forget_flat(t, 0, tile, formulas.UNWRITTEN)
    if s.grads and (not t.dim() or t.shape[-1] == 1):
        return t  # the row is one sum
    return formulas.forget(t, [-1], tile, 0.0 if s.grads else formulas.UNWRITTEN)


def _without_flat_tail(t: T, _: Setting, *, tile: int, fill: float) -> T:
    return formulas.forget_flat(t, 0, tile, fill)


def _last_tile() -> Iterator[Formula]:
    for tile, name in itertools.product(formulas.TILES, ("output", *STEPS)):
        yield formulas.answered(name, partial(_without_tail, tile=tile))
        for fill in (formulas.UNWRITTEN, 0.0):
            flat = partial(_without_flat_tail, tile=tile, fill=fill)
            yield formulas.answered(name, flat)


MISTAKES = (
    known("alpha_ignored", "alpha is used as if it were 1", "output: alpha = 1"),
    known(
        "alpha_on_input",
        "alpha multiplies the first operand: it must multiply the second",
        "output: input = alpha * input; output: alpha = 1",
    ),
    formulas.gradients_swapped(
        step_mistakes.of_key(
            "grad_input: grad_output = alpha * grad_output; terms: alpha = 1", {}
        ),
        formulas.exchanged(*STEPS),
    ),
    known(
        "alpha_twice",
        "alpha is used twice",
        *("output: alpha = alpha**2", "output: input = alpha * input"),
        "output: alpha = alpha**2; output: input = alpha * input",
        *("terms: alpha = alpha**2", "grad_input: grad_output = terms"),
    ),
    known(
        "alpha_missing_in_backward",
        "forward multiplies by alpha, so its gradient does too",
        "terms: alpha = 1",
    ),
    known(
        "broadcast_not_summed",
        "the gradient uses one position of a stretched axis, but all positions have "
        "read the same element in forward",
        *_of_both("first", "last"),
        *(f"{step}: sum_of_new = first_terms" for step in STEPS),
    ),
    known(
        "broadcast_averaged",
        "a stretched axis needs a sum, not an average",
        *_of_both("mean"),
    ),
    known(
        "alpha_and_sum_missing",
        "two mistakes. alpha is used as if it were 1. The gradient uses one position "
        "of a stretched axis, but all positions have read the same element in forward",
        *(
            "; ".join(["terms: alpha = 1", *(_sums(step, how)[0] for step in STEPS)])
            for how in ("first", "last")
        ),
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
