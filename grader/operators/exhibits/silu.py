# SPDX-License-Identifier: MIT
"""silu: torch.nn.functional.silu."""

from __future__ import annotations

import random
from typing import Any

import torch

from grader.operators.case import Case
from grader.operators.entry import Grads, Operator, Tensors, side, some_layout


class Silu(Operator):
    """x * sigmoid(x), also called swish."""

    name = "silu"
    forbidden = ("*silu*",)

    def reference(self, *inputs: Any, **options: Any) -> Any:
        """torch.nn.functional.silu."""
        return torch.nn.functional.silu(*inputs)

    def terms(self, case: Case, inputs: Tensors) -> dict[str, int]:
        """A handful of roundings, no sum."""
        return {"output": 8, "input": 16}

    def scales(
        self, inputs: Tensors, case: Case, grad_outputs: Grads
    ) -> tuple[list[torch.Tensor], list[torch.Tensor | None]]:
        """|x| forward, |grad_output| * (1 + |x|) backward."""
        x = inputs["input"].abs()
        return [x], [g.abs() * (1 + x) for g in grad_outputs]

    def draw(self, rng: random.Random) -> dict[str, Any]:
        """Any shape, also none."""
        return {
            "shapes": {"input": [side(rng, 1, 7) for _ in range(rng.randint(0, 4))]},
            "layout": some_layout(rng, "input", "grad_output"),
        }


OPERATOR = Silu()
