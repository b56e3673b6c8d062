# SPDX-License-Identifier: MIT
"""How exact must a result be? That depends on the way it is computed.

    direct     the sums of the definition, in any order: the tolerance of compare.py for
               each element, and equality where all numbers are small integers
    winograd   sums of transformed tiles: an element's error grows with the whole tile,
               not only with its own window, and integers do not stay integers (Lavin
               and Gray, arXiv 1509.09308; error bounds: Barabasz et al., 1803.10986)

A rung's class stands in lab.toml (`numerics = "winograd"`) and is that of the cases it
computes itself; what it leaves to another rung has that rung's class.
"""

from __future__ import annotations

import torch

from grader.tasks import DIRECT

SLACK = (
    8.0  # times the tolerance of direct sums; docs/results/seeds.md: how much is used
)


def bound(
    scale: torch.Tensor | None, numerics: str, *, exact: bool
) -> torch.Tensor | None:
    """The scale of a result's tolerance in its class; None where it must be equal.

    `scale` is the sum of absolute terms of each element, `exact` whether direct sums
    make no rounding error at all.
    """
    if numerics == DIRECT:
        return None if exact else scale
    if scale is None or not scale.numel():
        return scale
    return torch.full_like(scale, SLACK * float(scale.max()))
