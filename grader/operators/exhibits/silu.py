# SPDX-License-Identifier: MIT
"""silu: torch.nn.functional.silu."""

from __future__ import annotations

import random
from typing import Any

import torch

from grader.operators.activation import Activation, any_shape
from grader.operators.entry import some_layout


class Silu(Activation):
    """x * sigmoid(x), also called swish."""

    name = "silu"
    forbidden = ("*silu*",)

    def reference(self, *inputs: Any, **options: Any) -> Any:
        """torch.nn.functional.silu."""
        return torch.nn.functional.silu(*inputs)

    def draw(self, rng: random.Random) -> dict[str, Any]:
        """Any shape, also none."""
        return {
            "shapes": {"input": any_shape(rng)},
            "layout": some_layout(rng, "input", "grad_output"),
        }


OPERATOR = Silu()
