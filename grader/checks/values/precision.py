# SPDX-License-Identifier: MIT
"""Says how exact a result must be: it depends on the way it is computed.

    direct     the sums of the definition, in any order: the tolerance of compare.py for
               each element, and equality where all numbers are small integers
    winograd   sums of transformed tiles: an element's error grows with the whole tile,
               not only with its own window, and integers do not stay integers (Lavin
               and Gray, arXiv 1509.09308; error bounds: Barabasz et al., 1803.10986)
    tf32       direct sums of products whose factors were rounded to TF32 first: 11
               significant bits, so that integers of 11 bits stay equal
    half       direct sums, but only in f16: in other dtypes the rung covers nothing

The tolerance of tf32 is a bound, not a measurement. Rounding x to the nearest number of
11 significant bits, ties to either side, gives x (1 + d) with |d| <= 2^-11. A product
of two such factors is exact in float (22 bits). Its relative error is at most
(1 + 2^-11)^2 - 1 = 2^-10 + 2^-22. So let TERM = 2^-10 (1 + 2^-12). TERM times the sum
of absolute terms is a bound for the rounding in an element. The sum in float is a
direct one. Its terms are larger by the factor 1 + TERM at most. If factors are cut off
and not rounded, their errors are up to 2^-10 each. The errors of factors in bfloat16
are up to 2^-8. There is no TF32 in double: results in f64 are judged as direct sums.

If a term is NaN or infinity, its direct sum is NaN or infinity too, and no other sum
is. A transformed tile is NaN as a whole: results within REACH of such a sum may be
anything. Rounding to TF32 may turn infinity into NaN. The bound says nothing about
numbers below 2^-126.

lab.toml names a rung's class (`numerics = "winograd"`). A rung that chooses among
others names the tags of the cases that a class is for. Its other sums are direct sums:

    numerics.winograd = ["winograd_many_channels"]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from grader.checks.subject import Subject
from grader.checks.values.compare import Expected
from grader.course.rungs import DIRECT, HALF, TF32
from grader.operators import Case

SLACK = 16.0  # times the tolerance of direct sums
TERM = 2.0**-10 * (1 + 2.0**-12)  # of a product whose factors were rounded to TF32
REACH = 8  # rows or columns: what a tile of 6 by 6 results and its border cover
EXACT = {"integers": (DIRECT,), "short_integers": (DIRECT, TF32)}  # values -> classes


def expected(
    subject: Subject,
    case: Case,
    name: str,
    value: torch.Tensor,
    scale: torch.Tensor | None,
    terms: int,
    beyond: Callable[[str], float] = lambda _: 0.0,
) -> Expected:
    """What a result should hold: strictly at first, then as the rung's class allows.

    `scale` is the sum of absolute terms of each element, and `beyond` tells the largest
    such sum outside of a result's borders (Operator.beyond).
    """
    exact = EXACT.get(case.values, ())
    strict = Expected(name, value, None if DIRECT in exact else scale, terms)
    numerics = subject.numerics_of(case)
    if numerics == DIRECT or scale is None or not scale.numel():
        return strict

    def loose(dtype: torch.dtype) -> Expected:
        kind = numerics
        if kind == HALF or (kind == TF32 and dtype != torch.float32):
            kind = DIRECT
        if kind == DIRECT or kind in exact:
            return strict
        if kind == TF32:
            sure = value.isfinite() & (case.values != "tiny")
            return replace(strict, scale=scale, rounded=TERM, valid=sure)
        tiles = of_tiles(scale, beyond(name))
        return replace(strict, scale=tiles, valid=~around(~value.isfinite()))

    return replace(strict, loose=loose)


def around(mask: torch.Tensor) -> torch.Tensor:
    """Elements within REACH of a marked one, along the last two axes."""
    if mask.dim() < 3 or not mask.any():
        return mask
    wide = torch.nn.functional.max_pool2d(mask.double(), 2 * REACH + 1, 1, REACH)
    return wide.bool()


def of_tiles(scale: torch.Tensor, beyond: float) -> torch.Tensor:
    """The scale of results by transformed tiles, of which some go beyond the borders:
    an image of one pixel meets one element of a kernel, its tile all of them.
    """
    finite = scale.nan_to_num(0.0, posinf=0.0)
    largest = max(float(finite.max()), beyond) if scale.numel() else 0.0
    return torch.full_like(scale, SLACK * largest)
