# SPDX-License-Identifier: MIT
"""mul: torch.mul with broadcasting."""

from __future__ import annotations

import random
from typing import Any

import torch

from grader.operators.add import times_stretched, two_shapes
from grader.operators.case import Case
from grader.operators.entry import Operator, Tensors, some_layout


class Mul(Operator):
    """A product for each element; the gradients sum over what was broadcast."""

    name = "mul"
    forbidden = ("*mul*",)

    def reference(self, *inputs: Any, **options: Any) -> Any:
        """torch.mul."""
        return torch.mul(*inputs)

    def terms(self, case: Case, inputs: Tensors) -> dict[str, int]:
        """One product, and a sum over the axes along which an operand is stretched."""
        return {"output": 1, **times_stretched(inputs)}

    def draw(self, rng: random.Random) -> dict[str, Any]:
        """Any two shapes that broadcast."""
        return {
            "shapes": two_shapes(rng),
            "layout": some_layout(rng, "input", "other", "grad_output"),
        }


OPERATOR = Mul()
