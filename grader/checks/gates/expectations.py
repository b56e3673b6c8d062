# SPDX-License-Identifier: MIT
"""Makes the expected results of a gate, for one example or for a batch.

It allows the error of the least exact kernel, because other checks judge the values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import torch

from grader.checks.values.compare import Expected
from grader.checks.values.precision import of_tiles


def loosely(
    name: str,
    value: torch.Tensor,
    scale: torch.Tensor,
    terms: Mapping[str, int],
    beyond: Callable[[str], float] = lambda _: 0.0,
) -> Expected:
    """Expected as of the loosest kernel there is: values have a check of their own."""
    return Expected(name, value, of_tiles(scale, beyond(name)), terms.get(name, 1))


def stack(examples: list[list[Expected]]) -> list[Expected]:
    """The results of a batch, from those of each example."""
    made = []
    for column in zip(*examples):
        scales = [one.scale for one in column if one.scale is not None]
        value = torch.stack([one.value for one in column])
        made.append(replace(column[0], value=value, scale=torch.stack(scales)))
    return made
