# SPDX-License-Identifier: MIT
"""Finds how a wrong result of a gate relates to the right results, by its numbers.

A trait is a fact about numbers: each of them is found only if all numbers fit.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from grader.checks import named_mistakes as names

NEAR = {torch.float64: 1e-9, torch.float32: 2e-5}
FLOAT = 1e-5  # how far a result in double may be off if a step computes in float
AXES = 5  # more are not permuted
LEAST = 3  # elements that prove an odd factor
SIMPLE = tuple(
    sorted(
        {p / q for p in range(1, 65) for q in range(1, 65)}, key=lambda f: abs(f - 1)
    )
)


@dataclass(frozen=True)
class Trait:
    """What is seen of some wrong results: a key for the same fact, a name, a clause."""

    key: tuple[Any, ...]
    name: str
    clause: str


def near(got: torch.Tensor, other: torch.Tensor, kind: torch.dtype) -> bool:
    """Whether two tensors have the same numbers, but for rounding in this dtype."""
    if got.shape != other.shape or not got.numel() or kind not in NEAR:
        return False
    return float((got - other).abs().max()) <= NEAR[kind] * float(other.abs().max())


@dataclass(frozen=True)
class Wrong:
    """One wrong result, and what it is compared with."""

    index: int
    got: Sequence[torch.Tensor]  # all results of the call, as doubles
    right: Sequence[torch.Tensor]
    named: Sequence[str]  # in words, names in quotes
    kind: torch.dtype  # of this result
    examples: int  # in axis 0 of the right result; 0 if it is no batch
    tensors: Mapping[str, torch.Tensor]  # of the call, axes of the examples in front
    exact: bool  # whether any factor may be told: the numbers carry no mark

    @property
    def mine(self) -> torch.Tensor:
        """The wrong result."""
        return self.got[self.index]

    @property
    def due(self) -> torch.Tensor:
        """The right result."""
        return self.right[self.index]

    def equals(self, other: torch.Tensor) -> bool:
        """Whether the wrong result has these numbers, and the right one has not."""
        return near(self.mine, other, self.kind) and not near(
            self.due, other, self.kind
        )


def of(wrong: Wrong) -> Iterator[Trait]:
    """All traits of a wrong result, the most telling one first."""
    if wrong.mine.numel() and not bool(wrong.mine.any()):
        yield Trait(("zero",), names.RESULT_ZERO, "every element is 0")
        return
    for find in FINDERS:
        yield from find(wrong)


def _other_place(wrong: Wrong) -> Iterator[Trait]:
    """The numbers of another result."""
    here = wrong.named[wrong.index]
    for j, (there, name) in enumerate(zip(wrong.right, wrong.named)):
        if name == here or not wrong.equals(there):
            continue
        back = j < len(wrong.got) and near(wrong.got[j], wrong.due, wrong.kind)
        if back:
            pair = " and ".join(sorted((here, name)))
            clause = f"{pair} have exchanged their numbers"
            yield Trait(("exchanged", pair), names.RESULTS_EXCHANGED, clause)
        clause = f"the numbers of {name} stand here"
        yield Trait(("place", here, name), names.RESULT_IN_OTHER_PLACE, clause)


def _float(wrong: Wrong) -> Iterator[Trait]:
    """A double that is as exact as float."""
    if wrong.kind is not torch.float64 or wrong.mine.shape != wrong.due.shape:
        return
    size = float(wrong.due.abs().max()) if wrong.due.numel() else 0.0
    off = float((wrong.mine - wrong.due).abs().max()) if size else 0.0
    if NEAR[torch.float64] * size < off <= FLOAT * size:
        clause = (
            f"the largest error is {off / size:.0e} times the largest number. Does a "
            "step compute in float32, or with a constant of few digits?"
        )
        yield Trait(("float",), names.DIGITS_OF_DOUBLE_LOST, clause)


def _examples(wrong: Wrong) -> Iterator[Trait]:
    """One example or the sum of all in each place of the batch, or another order."""
    B, due = wrong.examples, wrong.due
    if B < 2 or due.dim() < 1 or due.shape[0] != B:
        return
    total = due.sum(0)
    shared = (
        (due[0], "first", names.FIRST_EXAMPLE_ONLY, "the numbers of the first example"),
        (total, "sum", names.EXAMPLES_SUMMED, "the sum over all examples"),
        (total / B, "mean", names.EXAMPLES_SUMMED, "the average over all examples"),
    )
    for value, key, name, words in shared:
        if wrong.equals(value.expand(due.shape)):
            yield Trait((key,), name, f"every example has {words}")
        elif wrong.equals(value):
            clause = f"without an axis of the examples: {words}"
            yield Trait((key, "no axis"), name, clause)
    for order in itertools.permutations(range(B)):
        if wrong.equals(due[list(order)]):
            clause = f"the examples are in the order {', '.join(map(str, order))}"
            yield Trait(("order", order), names.EXAMPLES_IN_OTHER_ORDER, clause)


def _axes(wrong: Wrong) -> Iterator[Trait]:
    """The right numbers, with axes in another order, or read in another order."""
    due = wrong.due
    if not 2 <= due.dim() <= AXES:
        return
    for order in itertools.permutations(range(due.dim())):
        if wrong.equals(due.permute(order)):
            to = order.index(0)
            if wrong.examples and to and [a for a in order if a] == sorted(order)[1:]:
                clause = (
                    f"the axis of the examples is at position {to}, expected "
                    "position 0. Look at the last value that the rule `vmap` returns"
                )
                yield Trait(("batch axis", to), names.BATCH_AXIS_MISPLACED, clause)
            else:
                listed = ", ".join(map(str, order))
                clause = f"the axes of the right result stand in the order ({listed})"
                yield Trait(("axes", order), names.AXES_EXCHANGED, clause)


def _reshaped(wrong: Wrong) -> Iterator[Trait]:
    """The right numbers, of which a joined axis is split in another order."""
    due, mine = wrong.due, wrong.mine
    if not wrong.examples or due.numel() != mine.numel() or mine.dim() < 2:
        return
    if mine.shape != due.shape and near(mine.flatten(), due.flatten(), wrong.kind):
        clause = (
            f"the numbers are right row by row, but the sizes are {list(mine.shape)}, "
            f"expected {list(due.shape)}"
        )
        yield Trait(("sizes",), names.RESULT_SIZES_WRONG, clause)
        return
    for there, here in itertools.product(range(due.dim()), range(mine.dim())):
        moved, own = due.movedim(0, there), mine.movedim(0, here)
        same = near(own.flatten(), moved.flatten(), wrong.kind)
        if same and not near(mine, due, wrong.kind):
            clause = (
                "the numbers are right, but their order is not. Move the axis of the "
                f"examples to position {there} of the right result. Move it to "
                f"position {here} of this result. Then both have the same numbers row "
                "by row. Is a joined axis split in the wrong order?"
            )
            key = ("reshaped", there, here)
            yield Trait(key, names.JOINED_AXES_EXCHANGED, clause)


def _factor(wrong: Wrong) -> Iterator[Trait]:
    """A constant factor."""
    due, mine = wrong.due, wrong.mine
    if mine.shape != due.shape or not (size := float((due * due).sum())):
        return
    by = float((mine * due).sum()) / size
    if not wrong.equals(due * by) or not by:
        return
    if abs(by + 1) < 1e-6:
        yield Trait(("sign",), names.SIGN_WRONG, "every element has the wrong sign")
        return
    simple = next((f for f in SIMPLE if abs(abs(by) / f - 1) < 1e-6), None)
    few = due.numel() < LEAST  # any two numbers have some ratio
    if simple is None and (few or not wrong.exact):
        return
    value = f"{by:.6g}"
    if simple is not None and simple < 1 and abs(1 / simple - round(1 / simple)) < 1e-9:
        value = f"{'-' if by < 0 else ''}1/{round(1 / simple)}"
    clause = f"every element is {value} times the expected number"
    if wrong.examples and any(
        abs(abs(by) / f - 1) < 1e-6 for f in (wrong.examples, 1 / wrong.examples)
    ):
        clause += f" ({wrong.examples} is the number of examples)"
    yield Trait(("factor", value), names.RESULT_SCALED, clause)


def _sums(wrong: Wrong) -> Iterator[Trait]:
    """A tensor of the call, summed over other axes."""
    for name, tensor in wrong.tensors.items():
        if not 1 <= tensor.dim() <= AXES or not tensor.is_floating_point():
            continue
        axes = range(tensor.dim())
        chosen = [c for count in (1, 2, 3) for c in itertools.combinations(axes, count)]
        right = [c for c in chosen if near(tensor.sum(c), wrong.due, wrong.kind)]
        for over in chosen if right else ():
            if wrong.equals(tensor.sum(over)):
                clause = (
                    f"this is the sum of {shown(name)} over {_listed(over)}, expected "
                    f"over {_listed(right[0])}"
                )
                if wrong.examples:
                    clause += ". Axis 0 counts the examples"
                key = "axes of sum", name, over, right[0]
                yield Trait(key, names.SUMMED_OVER_OTHER_AXES, clause)


def _more(wrong: Wrong) -> Iterator[Trait]:
    """The right result and a tensor of the call that is no part of it."""
    if wrong.mine.shape != wrong.due.shape:
        return
    more = wrong.mine - wrong.due
    if near(wrong.mine, wrong.due, wrong.kind):
        return
    for name, tensor in wrong.tensors.items():
        if not tensor.is_floating_point() or tensor.dim() != more.dim():
            continue
        for sign, words in ((1, "added"), (-1, "subtracted")):
            if near(more, sign * tensor, wrong.kind):
                clause = f"{shown(name)} is {words} to the right result"
                clause = clause if sign > 0 else clause.replace(" to ", " from ")
                yield Trait(("more", name, sign), names.TERM_ADDED, clause)


def _listed(axes: Sequence[int]) -> str:
    """Axes in words."""
    listed = ", ".join(map(str, axes))
    return f"axis {listed}" if len(axes) == 1 else f"the axes {listed}"


def shown(name: str) -> str:
    """A tensor of the call in a sentence: what words stand before keep no quotes."""
    words, _, last = name.rpartition(" ")
    return f"{words} '{last}'" if words else f"'{last}'"


FINDERS: tuple[Callable[[Wrong], Iterator[Trait]], ...] = (
    _other_place,
    _examples,
    _axes,
    _reshaped,
    _sums,
    _more,
    _factor,
    _float,
)
