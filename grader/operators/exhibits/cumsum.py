# SPDX-License-Identifier: MIT
"""cumsum: torch.cumsum along the last axis."""

from __future__ import annotations

import random
from typing import Any

import torch

from grader.operators.case import Case
from grader.operators.entry import Operator, Tensors, side, some_layout


class Cumsum(Operator):
    """An inclusive scan of each row."""

    name = "cumsum"
    forbidden = ("*cumsum*", "*logcumsumexp*")

    def reference(self, *inputs: Any, **options: Any) -> Any:
        """torch.cumsum."""
        (x,) = inputs
        return torch.cumsum(x, -1)

    def terms(self, case: Case, inputs: Tensors) -> dict[str, int]:
        """At most the numbers of a row."""
        D = inputs["input"].shape[-1]
        return {"output": D, "input": D}

    def draw(self, rng: random.Random) -> dict[str, Any]:
        """Up to three leading axes."""
        lead = [side(rng, 1, 5) for _ in range(rng.choice([0, 1, 2, 3]))]
        D = side(rng, 1, 17)
        return {
            "shapes": {"input": [*lead, D]},
            "D": D,
            "layout": some_layout(rng, "input", "grad_output"),
        }


OPERATOR = Cumsum()
