# SPDX-License-Identifier: MIT
"""Known mistakes of linear."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial

import torch

from grader.diagnosis.mistakes import formulas
from grader.diagnosis.mistakes.mistake import Formula, Mistake, Setting
from grader.diagnosis.mistakes.strides import strides_ignored
from grader.diagnosis.mistakes.wrong_bias import Index, averages, bias_index

T = torch.Tensor


def _rows(t: T) -> T:
    """All leading axes counted through as one."""
    return t.reshape(-1, t.shape[-1])


def _change_rows(change: Callable[[T], T]) -> Callable[[T], T]:
    """Change a tensor seen as rows; nothing to change where there are none."""

    def changed(t: T) -> T:
        return change(_rows(t)).reshape(t.shape) if t.numel() else t

    return changed


def _row_for_all(at: int) -> Callable[[T], T]:
    return _change_rows(lambda rows: rows[at].expand(rows.shape))


def _one_row(at: int, fill: float) -> Callable[[T], T]:
    return _change_rows(lambda rows: formulas.alone(rows, 0, at, fill))


def _some_rows(count: Callable[[T], int], fill: float) -> Callable[[T], T]:
    def change(t: T) -> T:
        if not t.numel():
            return t
        made = _rows(t).clone()
        made[count(t) :] = fill
        return made.reshape(t.shape)

    return change


def _first_axis(t: T) -> int:
    return t.shape[0] if t.dim() > 1 else 1


def _last_lead(t: T) -> int:
    return t.shape[-2] if t.dim() > 1 else 1


# ---- bias ----------------------------------------------------------------------------


def _bias_first_row() -> Iterator[Formula]:
    def output(t: T, s: Setting) -> T:
        bias = s.inputs.get("bias")
        if bias is None or not t.numel():
            return t
        made = _rows(t) - bias
        made[:1] += bias
        return made.reshape(t.shape)

    yield formulas.answered("output", output)
    yield formulas.only(
        "grad_bias", formulas.altered(lambda s: s.grad(_one_row(0, 0.0)))
    )
    yield formulas.only(
        "grad_bias", formulas.altered(lambda s: s.grad(_one_row(-1, 0.0)))
    )


# ---- transposed ----------------------------------------------------------------------


def _weight_transposed() -> Iterator[Formula]:
    for flat in (True, False):

        def weight(s: Setting, f: bool = flat) -> Setting:
            return s.input(weight=formulas.swapped(s.inputs["weight"], flat=f))

        yield from formulas.misread(weight)


def _gradient_transposed() -> Iterator[Formula]:
    def square(t: T, _: Setting) -> T:
        same = t.shape[0] == t.shape[1]
        return t.mT if same else torch.full_like(t, formulas.UNKNOWN)

    yield formulas.answered("grad_weight", lambda t, _: t.mT.reshape(t.shape))
    yield formulas.answered("grad_weight", square)


# ---- batch ---------------------------------------------------------------------------


def _batch() -> Iterator[Formula]:
    for at in (0, -1):
        row = _row_for_all(at)

        def image(s: Setting, r: Callable[[T], T] = row) -> Setting:
            return s.input(input=r(s.inputs["input"]))

        def grad(s: Setting, r: Callable[[T], T] = row) -> Setting:
            return s.grad(r)

        def both(s: Setting, r: Callable[[T], T] = row) -> Setting:
            return s.input(input=r(s.inputs["input"])).grad(r)

        def alone(s: Setting, a: int = at) -> Setting:
            return s.grad(_one_row(a, 0.0))

        yield formulas.altered(image)
        yield formulas.backward_only(formulas.altered(grad))
        yield formulas.backward_only(formulas.altered(both))
        yield formulas.backward_only(formulas.altered(alone))
        yield formulas.only("grad_weight", formulas.altered(alone))
        for name, fill in itertools.product(
            ("output", "grad_input"), (formulas.UNWRITTEN, 0.0)
        ):
            yield formulas.replaced(name, _one_row(at, fill))
    for count in (_first_axis, _last_lead):
        for name, fill in itertools.product(
            ("output", "grad_input"), (formulas.UNWRITTEN, 0.0)
        ):
            yield formulas.replaced(name, _some_rows(count, fill))

        def some(s: Setting, n: Callable[[T], int] = count) -> Setting:
            return s.grad(_some_rows(n, 0.0))

        yield formulas.backward_only(formulas.altered(some))


# ---- sums ----------------------------------------------------------------------------


def _one_term() -> Iterator[Formula]:
    """The last term of each sum, with the bias or without."""

    last = partial(formulas.alone, axis=-1, at=-1)

    def output(s: Setting) -> Setting:
        return s.input(input=last(s.inputs["input"]))

    def without_bias(s: Setting) -> Setting:
        return output(s.input(bias=s.inputs["bias"] * 0) if "bias" in s.inputs else s)

    yield formulas.forward_only(formulas.altered(output))
    yield formulas.forward_only(formulas.altered(without_bias))
    yield formulas.only("grad_input", formulas.altered(lambda s: s.grad(last)))
    for name in ("grad_weight", "grad_bias"):
        one_row = formulas.altered(lambda s: s.grad(_one_row(-1, 0.0)))
        yield formulas.only(name, one_row)


def _averaged(name: str) -> Iterator[Formula]:
    """A gradient divided by the number of its terms, or by another one."""
    for count in (
        lambda g: g.numel() // g.shape[-1],
        lambda g: g.shape[-1],
        lambda g: g.numel(),
        _first_axis,
        _last_lead,
    ):

        def average(t: T, s: Setting, n: Callable[[T], int] = count) -> T:
            return t / max(1, n(s.grads[0]))

        yield formulas.answered(name, average)


def _bias_indices() -> Iterator[Index]:
    """What stands in place of the output feature; axes are row and feature."""
    yield lambda s, axes: axes[0]
    yield lambda s, axes: 0 * axes[1]
    yield lambda s, axes: s.inputs["weight"].shape[0] - 1 - axes[1]


MISTAKES = (
    Mistake("accumulation_missing", formulas.ONE_TERM, tuple(_one_term())),
    formulas.bias_missing(),
    Mistake(
        "weight_transposed",
        "the weight is read as its transpose: it is (OC, IC)",
        tuple(_weight_transposed()),
    ),
    Mistake(
        "weight_transposed_without_bias",
        "two mistakes: the weight is read as its transpose (it is (OC, IC)), and the "
        "bias is missing",
        tuple(formulas.without_bias(formula) for formula in _weight_transposed()),
    ),
    *averages(_averaged, "the rows"),
    Mistake(
        "bias_first_row",
        "the bias is added to one row only: add it to every row",
        tuple(_bias_first_row()),
    ),
    bias_index(_bias_indices(), channel=1, seen=_rows),
    Mistake(
        "weight_gradient_transposed",
        "the numbers are right, but transposed: the gradient must have the shape of "
        "the weight, (OC, IC)",
        tuple(_gradient_transposed()),
    ),
    Mistake(
        "batch_ignored",
        "only some rows of the batch are used: use the rows of all leading axes",
        tuple(_batch()),
    ),
    strides_ignored("input", "weight", "bias"),
)
