# SPDX-License-Identifier: MIT
"""matmul: torch.matmul for operands of equal batch sizes."""

from __future__ import annotations

import random
from typing import Any

import torch

from grader.operators.case import Case
from grader.operators.entry import Operator, Tensors, numel, side, some_layout
from grader.operators.primitives import EVERY_MATRIX_PRODUCT


class Matmul(Operator):
    """In lab 01 built of elementwise products and sums."""

    name = "matmul"
    forbidden = EVERY_MATRIX_PRODUCT
    also_infinite = ("other",)

    def reference(self, *inputs: Any, **options: Any) -> Any:
        """torch.matmul."""
        return torch.matmul(*inputs)

    def terms(self, case: Case, inputs: Tensors) -> dict[str, int]:
        """K products forward, N and M backward."""
        M, K = inputs["input"].shape[-2:]
        N = inputs["other"].shape[-1]
        return {"output": K, "input": N, "other": M}

    def tags(self, case: Case) -> dict[str, bool]:
        """Whether matrices consist of packs, along a row or down a column."""
        shapes = self.input_shapes(case)
        K, N = shapes["other"][-2:]
        dense_axis = {"contiguous": -1, "transposed": -2}
        ends = [N]  # of the axes whose numbers lie side by side; 1: there is none
        for name, shape in shapes.items():
            axis = dense_axis.get(case.layout.get(name, "contiguous"))
            ends.append(shape[axis] if axis else 1)
        some = K >= 8 and all(numel(shape) for shape in shapes.values())
        return {
            "packs_of_4": some and all(end % 4 == 0 for end in ends),
            "packs_of_8": some and all(end % 8 == 0 for end in ends),
            "k_multiple_of_4": K > 0 and K % 4 == 0,
        }

    def draw(self, rng: random.Random) -> dict[str, Any]:
        """Up to two batch axes."""
        batch = [side(rng, 1, 3) for _ in range(rng.choice([0, 0, 1, 2]))]
        M, N, K = (side(rng, 1, 12) for _ in range(3))
        return {
            "shapes": {"input": [*batch, M, K], "other": [*batch, K, N]},
            "layout": some_layout(rng, "input", "other", "grad_output"),
        }


OPERATOR = Matmul()
