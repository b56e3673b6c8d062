# SPDX-License-Identifier: MIT
"""cdist: torch.cdist of two lists of points, with p = 1."""

from __future__ import annotations

import random
from typing import Any

import torch

from grader.operators.case import Case
from grader.operators.entry import Grads, Operator, Tensors, side, some_layout


class Cdist(Operator):
    """The sum of absolute differences of two points."""

    name = "cdist"
    forbidden = ("*dist*", "*norm*")

    def reference(self, *inputs: Any, **options: Any) -> Any:
        """torch.cdist."""
        x1, x2 = inputs
        return torch.cdist(x1, x2, p=1)

    def terms(self, case: Case, inputs: Tensors) -> dict[str, int]:
        """D differences, and one sign for each point in a gradient."""
        points, D = inputs["x1"].shape
        return {"output": D, "x1": inputs["x2"].shape[0], "x2": points}

    def scales(
        self, inputs: Tensors, case: Case, grad_outputs: Grads
    ) -> tuple[list[torch.Tensor], list[torch.Tensor | None]]:
        """Each difference as a sum of absolutes, each sign as 1."""
        x1, x2 = inputs["x1"].abs(), inputs["x2"].abs()
        output = x1.sum(1)[:, None] + x2.sum(1)
        if not grad_outputs:
            return [output], [None, None]
        grad = grad_outputs[0].abs()
        found = [grad.sum(1)[:, None].expand_as(x1), grad.sum(0)[:, None].expand_as(x2)]
        wanted = self.wanted(case)
        return [output], [s if want else None for s, want in zip(found, wanted)]

    def draw(self, rng: random.Random) -> dict[str, Any]:
        """Small sizes."""
        return {
            **{name: side(rng, 1, 6) for name in ("P", "R", "D")},
            "layout": some_layout(rng, "x1", "x2", "grad_output"),
        }


OPERATOR = Cdist()
