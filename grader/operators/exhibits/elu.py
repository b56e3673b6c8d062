# SPDX-License-Identifier: MIT
"""elu: torch.nn.functional.elu."""

from __future__ import annotations

import random
from typing import Any

import torch
from signatures import Argument

from grader.operators.activation import any_shape
from grader.operators.case import Case
from grader.operators.entry import Grads, Operator, Tensors, some_layout

LARGE = 1000  # how much larger numbers are with values = "large"


class Elu(Operator):
    """exp(x) - 1 loses digits near 0: the error is that of 1."""

    name = "elu"
    forbidden = ("*elu*",)

    def fill(
        self, argument: Argument, shape: tuple[int, ...], case: Case, rng: Any
    ) -> torch.Tensor:
        """With values = "large" the input is a thousand times as large."""
        numbers = super().fill(argument, shape, case, rng)
        large = case.values == "large" and argument.name == "input"
        return numbers * LARGE if large else numbers

    def reference(self, *inputs: Any, **options: Any) -> Any:
        """torch.nn.functional.elu."""
        return torch.nn.functional.elu(*inputs, **options)

    def terms(self, case: Case, inputs: Tensors) -> dict[str, int]:
        """A handful of roundings, no sum."""
        return {"output": 8, "input": 8}

    def scales(
        self, inputs: Tensors, case: Case, grad_outputs: Grads
    ) -> tuple[list[torch.Tensor], list[torch.Tensor | None]]:
        """|x| + |alpha| forward, |grad_output| * (1 + |alpha|) backward."""
        alpha = abs(self.signature.resolve(case.options)["alpha"])
        output = inputs["input"].abs() + alpha
        return [output], [g.abs() * (1 + alpha) for g in grad_outputs]

    def draw(self, rng: random.Random) -> dict[str, Any]:
        """Any shape, also none."""
        return {
            "shapes": {"input": any_shape(rng)},
            "alpha": rng.choice([1, 0.5, 2.0]),
            "layout": some_layout(rng, "input", "grad_output"),
        }


OPERATOR = Elu()
