# SPDX-License-Identifier: MIT
"""prelu: torch.nn.functional.prelu with a slope for each channel."""

from __future__ import annotations

import random
from typing import Any

import torch

from grader.operators.case import Case
from grader.operators.entry import Grads, Operator, Tensors, side, some_layout


class Prelu(Operator):
    """The slope below zero is a parameter."""

    name = "prelu"
    forbidden = ("*prelu*", "*leaky_relu*")

    def reference(self, *inputs: Any, **options: Any) -> Any:
        """torch.nn.functional.prelu."""
        return torch.nn.functional.prelu(*inputs)

    def terms(self, case: Case, inputs: Tensors) -> dict[str, int]:
        """One product, and N*L terms in the gradient of a slope."""
        N, _, L = inputs["input"].shape
        return {"output": 1, "input": 1, "weight": N * L}

    def scales(
        self, inputs: Tensors, case: Case, grad_outputs: Grads
    ) -> tuple[list[torch.Tensor], list[torch.Tensor | None]]:
        """Each branch as if it always counted."""
        x, slope = inputs["input"].abs(), 1 + inputs["weight"].abs()[:, None]
        if not grad_outputs:
            return [x * slope], [None, None]
        grad = grad_outputs[0].abs()
        found = [grad * slope, (grad * x).sum((0, 2))]
        wanted = self.wanted(case)
        return [x * slope], [s if want else None for s, want in zip(found, wanted)]

    def draw(self, rng: random.Random) -> dict[str, Any]:
        """Small sizes."""
        return {
            **{name: side(rng, 1, 6) for name in ("N", "C", "L")},
            "layout": some_layout(rng, "input", "weight", "grad_output"),
        }


OPERATOR = Prelu()
