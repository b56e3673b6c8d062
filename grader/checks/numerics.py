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

from dataclasses import replace

import torch

from grader.checks.compare import Expected
from grader.checks.subject import Subject
from grader.operators import Case
from grader.tasks import DIRECT

SLACK = (
    16.0  # times the tolerance of direct sums; docs/results/seeds.md: how much is used
)


def expected(
    subject: Subject,
    case: Case,
    name: str,
    value: torch.Tensor,
    scale: torch.Tensor | None,
    terms: int,
) -> Expected:
    """What a result should hold: strictly at first. Only where it does not is asked who
    computed it, and in which class.

    `scale` is the sum of absolute terms of each element.
    """
    exact = case.values == "integers"
    strict = Expected(name, value, None if exact else scale, terms)
    classes = subject.classes
    if classes is None or scale is None or not scale.numel():
        return strict

    def loose() -> Expected:
        if classes(case, name) == DIRECT:
            return strict
        whole = torch.full_like(scale, SLACK * float(scale.max()))
        return replace(strict, scale=whole)

    return replace(strict, loose=loose)
