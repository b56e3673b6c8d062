# SPDX-License-Identifier: MIT
"""linear: torch.nn.functional.linear."""

from __future__ import annotations

import random
from typing import Any

import torch

from grader.operators.case import Case
from grader.operators.entry import Operator, Tensors, numel, side, some_layout
from grader.operators.layouts import dense
from grader.operators.primitives import EVERY_CONVOLUTION, MATRIX_PRODUCTS


class Linear(Operator):
    """In lab 01 built of matrix products; the bias is the student's own."""

    name = "linear"
    forbidden = ("linear", "addmm", "addmv", "_addmm_activation", EVERY_CONVOLUTION)
    primitives = MATRIX_PRODUCTS

    def reference(self, *inputs: Any, **options: Any) -> Any:
        """torch.nn.functional.linear."""
        return torch.nn.functional.linear(*inputs)

    def terms(self, case: Case, inputs: Tensors) -> dict[str, int]:
        """IC products and the bias forward; OC, and one per row, backward."""
        OC, IC = inputs["weight"].shape
        R = numel(inputs["input"].shape[:-1])
        return {"output": IC + 1, "input": OC, "weight": R, "bias": R}

    def tags(self, case: Case) -> dict[str, bool]:
        """Whether rows consist of packs; there may be no rows."""
        shapes = self.input_shapes(case)
        OC, IC = shapes["weight"]
        in_a_row = dense(shapes, case.layout)
        packs = in_a_row["input"] and in_a_row["weight"] and IC % 8 == OC % 8 == 0
        return {"packs_of_8": packs or numel(shapes["input"]) == 0}

    def draw(self, rng: random.Random) -> dict[str, Any]:
        """Up to three leading axes, also none."""
        lead = [side(rng, 1, 5) for _ in range(rng.choice([0, 1, 1, 2, 3]))]
        IC, OC = side(rng, 1, 12), side(rng, 1, 12)
        return {
            "shapes": {"input": [*lead, IC]},
            "IC": IC,
            "OC": OC,
            "without": ["bias"] if rng.random() < 0.3 else [],
            "layout": some_layout(rng, "input", "weight", "bias", "grad_output"),
        }


OPERATOR = Linear()
