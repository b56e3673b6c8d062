# SPDX-License-Identifier: MIT
"""Known mistakes of matmul."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

import torch

from grader.diagnosis.mistakes import formulas
from grader.diagnosis.mistakes.mistake import Answers, Formula, Mistake, Setting
from grader.diagnosis.mistakes.strides import strides_ignored

T = torch.Tensor
GRADIENTS = ("grad_input", "grad_other")


# ---- transposed ----------------------------------------------------------------------


def _untransposed(t: T, *, flat: bool) -> T:
    """What stands where its transpose should: the memory taken for (columns, rows)."""
    *lead, rows, columns = t.shape
    if flat:
        return t.reshape(*lead, columns, rows)
    return formulas.taken_for(t, [*lead, columns, rows], t.stride())


def _transposed() -> Iterator[Formula]:
    for flat in (True, False):
        for name in ("input", "other"):

            def operand(s: Setting, n: str = name, f: bool = flat) -> Setting:
                return s.input(**{n: formulas.swapped(s.inputs[n], flat=f)})

            yield formulas.forward_only(formulas.altered(operand))

        def both(s: Setting, f: bool = flat) -> Setting:
            return s.input(
                **{n: formulas.swapped(t, flat=f) for n, t in s.inputs.items()}
            )

        yield formulas.forward_only(formulas.altered(both))

        def grad_input(s: Setting, f: bool = flat, grad: bool = False) -> Answers:
            g = formulas.swapped(s.grads[0], flat=f) if grad else s.grads[0]
            return {"grad_input": g @ _untransposed(s.inputs["other"], flat=f)}

        def grad_other(s: Setting, f: bool = flat, grad: bool = False) -> Answers:
            g = formulas.swapped(s.grads[0], flat=f) if grad else s.grads[0]
            return {"grad_other": _untransposed(s.inputs["input"], flat=f) @ g}

        def turned_grad(s: Setting, f: bool = flat) -> Setting:
            return s.grad(lambda g: formulas.swapped(g, flat=f))

        yield formulas.only("grad_input", grad_input)
        yield formulas.only("grad_other", grad_other)
        for name in GRADIENTS:
            yield formulas.only(name, formulas.altered(turned_grad))
    for name in ("output", *GRADIENTS):
        yield formulas.answered(name, lambda t, _: t.mT.reshape(t.shape))
        yield formulas.answered(name, _only_square)


def _only_square(t: T, _: Setting) -> T:
    """The answer transposed; of other shapes nothing can be said."""
    square = t.shape[-1] == t.shape[-2]
    return t.mT if square else torch.full_like(t, formulas.UNKNOWN)


# ---- swapped -------------------------------------------------------------------------


def _gradients_swapped() -> Iterator[Formula]:
    def numbers(s: Setting) -> Answers:
        truth = s.truth
        if len(truth) < 2:
            return dict.fromkeys(truth)
        lhs, rhs = (truth[name] for name in GRADIENTS)
        return {
            "grad_input": formulas.refit(rhs, lhs.shape),
            "grad_other": formulas.refit(lhs, rhs.shape),
        }

    def squares(s: Setting) -> Answers:
        made = numbers(s)
        same = len({t.shape for t in s.truth.values()}) == 1
        return made if same else dict.fromkeys(s.truth)

    yield formulas.backward_only(numbers)
    yield formulas.backward_only(squares)


# ---- batch ---------------------------------------------------------------------------


def _matrices(t: T) -> T:
    """All matrices of a batch along one axis."""
    return t.reshape(-1, *t.shape[-2:])


def _first(t: T, at: int) -> T:
    """One matrix in the place of all."""
    if t.dim() < 3 or not t.numel():
        return t
    return _matrices(t)[at].expand(t.shape)


def _alone(t: T, at: int, fill: float) -> T:
    """One matrix there, the others not."""
    if t.dim() < 3 or not t.numel():
        return t
    return formulas.alone(_matrices(t), 0, at, fill).reshape(t.shape)


def _leading(t: T, axis: int, fill: float) -> T:
    """As many matrices as one leading axis is long."""
    if t.dim() < 3 or not t.numel():
        return t
    flat = _matrices(t).clone()
    flat[t.shape[axis] :] = fill
    return flat.reshape(t.shape)


def _batch() -> Iterator[Formula]:
    for at in (0, -1):
        for names in (("input", "other"), ("input",), ("other",)):

            def operands(
                s: Setting, n: tuple[str, ...] = names, a: int = at
            ) -> Setting:
                return s.input(**{name: _first(s.inputs[name], a) for name in n})

            yield formulas.altered(operands)

        def grads(s: Setting, a: int = at) -> Setting:
            return s.grad(lambda g: _first(g, a))

        def all_first(s: Setting, a: int = at) -> Setting:
            first = {name: _first(t, a) for name, t in s.inputs.items()}
            return s.input(**first).grad(lambda g: _first(g, a))

        yield formulas.backward_only(formulas.altered(grads))
        yield formulas.backward_only(formulas.altered(all_first))
    for name, fill in itertools.product(
        ("output", *GRADIENTS), (formulas.UNWRITTEN, 0.0)
    ):
        for at in (0, -1):
            yield formulas.replaced(name, partial(_alone, at=at, fill=fill))
            yield formulas.replaced(name, partial(_leading, axis=at, fill=fill))


# ---- sums ----------------------------------------------------------------------------


def _one_term(at: int) -> Iterator[Formula]:
    """Only this term of every sum."""

    def term(t: T, axis: int) -> T:
        return formulas.alone(t, axis, at)

    yield formulas.forward_only(
        formulas.altered(lambda s: s.input(input=term(s.inputs["input"], -1)))
    )
    yield formulas.only(
        "grad_input", formulas.altered(lambda s: s.grad(lambda g: term(g, -1)))
    )
    yield formulas.only(
        "grad_other", formulas.altered(lambda s: s.grad(lambda g: term(g, -2)))
    )


def _short_sums() -> Iterator[Formula]:
    for tile in (*formulas.TILES, 64, 128, 256, 512):

        def operand(s: Setting, t: int = tile) -> Setting:
            return s.input(input=formulas.forget(s.inputs["input"], [-1], t, 0.0))

        yield formulas.forward_only(formulas.altered(operand))
        for name, axis in (("grad_input", -1), ("grad_other", -2)):

            def grad(s: Setting, a: int = axis, t: int = tile) -> Setting:
                return s.grad(lambda g: formulas.forget(g, [a], t, 0.0))

            yield formulas.only(name, formulas.altered(grad))


def _short_results() -> Iterator[Formula]:
    for name in ("output", *GRADIENTS):
        yield from formulas.tails(name, [[-1], [-2], [-2, -1]], [0])
        for tile in formulas.TILES:
            yield formulas.replaced(name, partial(_corner, tile=tile))


def _corner(t: T, tile: int) -> T:
    """Only where both ends miss, in the last tile of rows and of columns."""
    made = t.clone()
    rows, columns = (formulas.kept(n, tile) for n in t.shape[-2:])
    made[..., rows:, columns:] = formulas.UNWRITTEN
    return made


MISTAKES = (
    formulas.gradients_swapped(_gradients_swapped()),
    Mistake(
        "operand_transposed",
        "a matrix is transposed by mistake, or must be transposed: compare the shapes "
        "in the product with the result's shape",
        tuple(_transposed()),
    ),
    Mistake(
        "batch_ignored",
        "only one matrix of the batch is used",
        tuple(_batch()),
    ),
    Mistake(
        "accumulation_missing",
        formulas.ONE_TERM,
        (*_one_term(-1), *_one_term(0)),
    ),
    Mistake(
        "last_term_forgotten",
        "every sum ends before its last terms",
        tuple(_short_sums()),
    ),
    Mistake(
        "last_row_or_column_forgotten",
        "the last rows or columns are missing, or all rows or columns that do not "
        "fill a tile",
        tuple(_short_results()),
    ),
    strides_ignored("input", "other"),
)
