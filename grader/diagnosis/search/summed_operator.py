# SPDX-License-Identifier: MIT
"""Defines what an operator is to the search: sums of products, and their edits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from grader.diagnosis.mistakes.mistake import Setting
from grader.diagnosis.search.sums import Indices, Numbers, Sum

Change = Callable[[Sum], Sum | None]  # None: not possible for this sum


@dataclass(frozen=True)
class Form:
    """An operator as a sum of products, and its bias as another sum."""

    products: Sum
    bias: Sum | None
    numbers: Callable[[Setting], Numbers]
    axes: Mapping[str, Sequence[str]]  # by tensor: how its indices are called
    shown: Mapping[str, str] = field(default_factory=dict)  # coefficients, to a reader
    #: other values of a variable, and words for what the code does
    instead: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    #: of group and filter: what people compute in place of a number of a channel
    expressions: Sequence[str] = ()
    window: bool = False  # `padded` is an image
    counts: Sequence[tuple[str, ...]] = ()  # what a sum is divided by, too
    #: by tensor: the loops whose products meet in one element, in the order of the code
    writes: Mapping[str, Sequence[tuple[str, ...]]] = field(default_factory=dict)
    #: changes by key, which only known mistakes use
    others: Mapping[str, Change] = field(default_factory=dict)


def plain(*loops: str) -> Indices:
    """Indices that are loop variables."""
    return tuple((("1", loop),) for loop in loops)


def other(
    need: str, tensors: Mapping[str, Indices] | None = None, **fields: Any
) -> Change:
    """The same sum with other indices of some tensors, or with other fields; of a sum
    that has the tensor `need`.
    """

    def change(sum_: Sum) -> Sum | None:
        if need not in sum_.tensors:
            return None
        return replace(sum_, tensors={**sum_.tensors, **(tensors or {})}, **fields)

    return change


def result_of(s: Setting) -> torch.Tensor:
    """The output of a case; backward its gradient."""
    return s.grads[0] if s.grads else s.truth["output"]


def numbers_of_case(
    s: Setting,
    coefficients: Mapping[str, int],
    ranges: Mapping[str, int],
    sizes: Mapping[str, tuple[int, ...]],
) -> Numbers:
    """Of a case. Backward, `output` holds its gradient."""
    there = {**s.inputs, "output": result_of(s)}
    dense = {name for name, tensor in there.items() if tensor.is_contiguous()}
    tensors = {
        name: there[name].double().reshape(size)
        for name, size in sizes.items()
        if name in there
    }
    return Numbers(coefficients, ranges, tensors, sizes, frozenset(dense))
