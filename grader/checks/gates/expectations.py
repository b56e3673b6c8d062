# SPDX-License-Identifier: MIT
"""Makes the expected results of a gate, for one example or for a batch.

It allows the error of the least exact kernel, because other checks judge the values.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch

from grader.checks.values.compare import Expected
from grader.checks.values.precision import of_tiles
from grader.operators.entry import Tensors


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


def moving(
    function: Callable[[Tensors], tuple[torch.Tensor, ...]],
    inputs: Tensors,
    tangents: Tensors,
    starts: Tensors,
) -> list[Expected]:
    """Directional derivatives of a function's results, twice, and of its gradients.

    `starts` are the gradients of the results.
    """
    names = list(tangents)

    def results(*given: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return function({**inputs, **dict(zip(names, given))})

    def gradients(*given: torch.Tensor) -> tuple[torch.Tensor, ...]:
        pull: Any = torch.func.vjp(results, *given)[1]
        made: tuple[torch.Tensor, ...] = pull(tuple(starts.values()))
        return made

    given, along = tuple(inputs[name] for name in names), tuple(tangents.values())
    with warnings.catch_warnings():  # of PyTorch about itself
        warnings.simplefilter("ignore")
        first = torch.func.jvp(results, given, along)[1]
        second = torch.func.jvp(gradients, given, along)[1]
    named = [("tangent", value) for value in (*first, *first)]
    named += [(f"tangent of grad_{name}", v) for name, v in zip(names, second)]
    return [loosely(name, v, torch.ones_like(v) * 100, {}) for name, v in named]
