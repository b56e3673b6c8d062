# SPDX-License-Identifier: MIT
"""Draws a failing case's wrong result beside the inputs and the right result."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from grader.checks.heat_map import HeatMap, Plane
from grader.diagnosis.match import Trial
from grader.diagnosis.which_cases import sizes

ROWS, COLUMNS = 10, 16  # at most so many are shown
FEWEST = 9  # elements of a plane in which one sees a pattern
DIGITS = 6


def draw(trials: Sequence[Trial]) -> HeatMap | None:
    """Of the failing trials the smallest that shows where it is wrong: in a plane of a
    few elements, some of which are right if there is such a one.
    """
    worth = []
    for number, trial in enumerate(trials):
        for name, mask in trial.wrong.items() if trial.got else ():
            if not mask.numel() or not bool(mask.any()):
                continue
            first = tuple(int(i) for i in mask.nonzero()[0])
            marks = _flat(mask, first[:-2])
            order = marks.numel() < FEWEST, bool(marks.all()), mask.numel()
            worth.append((order, number, name, first))
    if not worth:
        return None
    _, number, name, first = min(worth)
    trial = trials[number]
    assert trial.got
    mask, setting = trial.wrong[name], trial.setting
    planes = [
        _plane(name, trial.got[name], first, "came", mask),
        _plane(name, setting.truth[name], first, "expected", mask),
    ]
    if went_in := _went_in(trial, first):
        planes.insert(0, went_in)
    return HeatMap(trial.case.name, tuple(planes), sizes(trial))


def _went_in(trial: Trial, first: tuple[int, ...]) -> Plane | None:
    """The first input, or of a gradient what comes from above: the plane of the same
    element of the batch.
    """
    setting = trial.setting
    if setting.grads:
        name, tensor = f"grad_{setting.results[0]}", setting.grads[0]
    else:
        name, tensor = next(iter(setting.inputs.items()))
    if not tensor.numel() or not tensor.is_floating_point():
        return None
    at = [0] * tensor.dim()
    if tensor.dim() > 2 and first and first[0] < tensor.shape[0]:
        at[0] = first[0]
    return _plane(name, tensor, tuple(at), "given", None)


def _plane(
    name: str,
    tensor: torch.Tensor,
    at: tuple[int, ...],
    word: str,
    mask: torch.Tensor | None,
) -> Plane:
    """The part of a tensor around an element, along its last two axes."""
    lead = at[:-2]
    inside = f"[{', '.join(map(str, lead))}]" if lead else ""
    title = f"{name}{inside} {word}"
    rows, columns = _windows(tensor.shape[-2:], at[-2:])
    values = _flat(tensor, lead)[rows, columns]
    marks = _flat(mask, lead)[rows, columns] if mask is not None else None
    return Plane(
        title,
        tuple(tuple(map(_rounded, row)) for row in values.tolist()),
        tuple("".join(".#"[bool(m)] for m in row) for row in marks.tolist())
        if marks is not None
        else (),
        more=values.numel() < _flat(tensor, lead).numel(),
    )


def _flat(tensor: torch.Tensor, lead: tuple[int, ...]) -> torch.Tensor:
    """The plane as a matrix; a vector is one row."""
    plane = tensor[lead] if lead else tensor
    return plane if plane.dim() == 2 else plane.reshape(1, -1)


def _windows(shape: Sequence[int], at: Sequence[int]) -> tuple[slice, slice]:
    """Which rows and columns: from the beginning, unless the element lies beyond."""
    sizes, places = [1, 1, *shape][-2:], [0, 0, *at][-2:]
    made = []
    for size, place, most in zip(sizes, places, (ROWS, COLUMNS)):
        start = 0 if place < most else min(place - 1, size - most)
        made.append(slice(start, start + most))
    return made[0], made[1]


def _rounded(value: float) -> float | None:
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
