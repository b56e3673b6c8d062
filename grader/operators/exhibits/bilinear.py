# SPDX-License-Identifier: MIT
"""bilinear: torch.nn.functional.bilinear of rows."""

from __future__ import annotations

import random
from typing import Any

import torch

from grader.operators.case import Case
from grader.operators.entry import Operator, Tensors, side, some_layout
from grader.operators.primitives import MATRIX_PRODUCTS


class Bilinear(Operator):
    """A sum of products of three factors."""

    name = "bilinear"
    forbidden = ("bilinear", "_trilinear", "linear", "*conv*")
    primitives = MATRIX_PRODUCTS

    def reference(self, *inputs: Any, **options: Any) -> Any:
        """torch.nn.functional.bilinear."""
        return torch.nn.functional.bilinear(*inputs)

    def terms(self, case: Case, inputs: Tensors) -> dict[str, int]:
        """IC*JC products, and one term for each row in the gradients of a parameter."""
        OC, IC, JC = inputs["weight"].shape
        N = inputs["input1"].shape[0]
        return {
            "output": IC * JC + 1,
            "input1": OC * JC,
            "input2": OC * IC,
            "weight": N,
            "bias": N,
        }

    def draw(self, rng: random.Random) -> dict[str, Any]:
        """Small sizes; a bias more often than none."""
        return {
            **{name: side(rng, 1, 5) for name in ("N", "IC", "JC", "OC")},
            "without": ["bias"] if rng.random() < 0.3 else [],
            "layout": some_layout(rng, "input1", "input2", "weight", "grad_output"),
        }


OPERATOR = Bilinear()
