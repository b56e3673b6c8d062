# SPDX-License-Identifier: MIT
"""Searches a condition that holds for all that is wrong, and for nothing that is right.

A column is a number, or an answer yes or no, of each case or of each element. The later
it stands in the list, the more wrong and right ones it needs: chance must not separate
them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import torch

from grader.diagnosis.match import Trial

T = torch.Tensor
Column = tuple[str, Callable[[Trial], T | None]]  # words, and the values in a case
FEW = 3  # wrong and right ones: with fewer, anything separates them
CHANCE = 30.0  # so much rarer than chance a separation must be
NONE = ("", 0)
APART = 4  # of so many wrong ones, one right one must lie beyond a bound


def separated(
    trials: Sequence[Trial],
    masks: Sequence[T],
    columns: Iterable[Column],
    spare: int = 0,
) -> tuple[str, int]:
    """The first condition for what the masks mark in each case, or "", and how many
    right ones meet it too: at most one for `spare` wrong ones.
    """
    wrong = torch.cat([mask.flatten() for mask in masks])
    count, of_them = wrong.numel(), int(wrong.sum())
    if min(of_them, count - of_them) < FEW:
        return NONE
    ways = _log_choices(count, of_them)
    both = [i for i, m in enumerate(masks) if bool(m.any()) and not bool(m.all())]
    among = of_them // spare if spare else 0
    probe = min(both, key=lambda i: masks[i].numel(), default=None)
    if probe is None and count > len(masks):  # a case is all wrong, or all right
        return NONE
    for rank, (words, of) in enumerate(columns, start=1):
        if math.log(CHANCE * rank) > ways:
            break
        if probe is not None:
            values = of(trials[probe])
            if values is None:
                continue
            if _condition(words, values, masks[probe].flatten(), among) == NONE:
                continue
        every = [values for trial in trials if (values := of(trial)) is not None]
        if len(every) == len(trials):
            values = torch.cat(every)
            least = of_them // APART if values.is_floating_point() or spare else 0
            found = _condition(words, values, wrong, among, least)
            easy = math.log(CHANCE * rank) + _log_choices(of_them + found[1], of_them)
            if found != NONE and easy <= ways:
                return found
    return NONE


def _log_choices(count: int, chosen: int) -> float:
    """The logarithm of the number of ways to choose some of `count` things."""
    rest = count - chosen
    return math.lgamma(count + 1) - math.lgamma(chosen + 1) - math.lgamma(rest + 1)


def _condition(
    words: str, values: T, mask: T, spare: int, least: int = 0
) -> tuple[str, int]:
    """What all that is wrong has in common, and no right one has, or a few have; at
    least some right ones lie beyond it.
    """
    wrong, right = values[mask], values[~mask]
    if values.dtype == torch.bool:
        among = int(right.sum())
        fits = bool(wrong.all()) and among <= spare and among < len(right)
        return (words, among) if fits else NONE
    low, high = wrong.min(), wrong.max()
    below, above = right[right < low], right[right > high]
    beyond = len(below) + len(above)
    among = len(right) - beyond
    if among > spare or beyond < max(1, least):
        return NONE
    fewer = min(below, above, key=len)
    if len(fewer) and among + len(fewer) <= spare:  # one bound is enough
        among += len(fewer)
        below, above = (above[:0], above) if fewer is below else (below, below[:0])
    if low == high and ("%" in words or (len(below) and len(above))):
        return f"{words} is {float(low):.6g}", among
    bounds, whole = [], not values.is_floating_point()
    if len(below):
        bounds.append(_bound(f"{words} >", float(below.max()), float(low), whole))
    if len(above):
        bounds.append(_bound(f"{words} <", float(high), float(above.min()), whole))
    return " and ".join(bounds), among


def _bound(words: str, low: float, high: float, whole: bool) -> str:
    """A round bound between two numbers, and which other bounds separate as well."""
    more = words[-1] == ">"
    if whole:
        first, last = (low, high - 1) if more else (low + 1, high)
        others = f" (or any bound from {first:.0f} to {last:.0f})"
        best = first if more else last
        return f"{words} {best:.0f}{others if first < last else ''}"
    if low <= 0 <= high and (high if more else low) != 0:
        return f"{words} 0"
    digits = 1
    while not low < (best := float(f"{(low + high) / 2:.{digits}g}")) < high:
        digits += 1
    unit = 10.0 ** (3 - math.floor(math.log10(max(abs(low), abs(high)))))
    first, last = math.ceil(low * unit) / unit, math.floor(high * unit) / unit
    others = f" (or any bound between {first:.6g} and {last:.6g})"
    return f"{words} {best:.{digits}g}{others if first < last else ''}"
