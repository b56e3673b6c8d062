# SPDX-License-Identifier: MIT
"""rms_norm: torch.nn.functional.rms_norm over the last axis."""

from __future__ import annotations

import random
from typing import Any

import torch

from grader.operators.case import Case
from grader.operators.entry import Grads, Operator, Tensors, side, some_layout


class RmsNorm(Operator):
    """Each row divided by the root of its mean square."""

    name = "rms_norm"
    forbidden = ("*norm*",)

    def reference(self, *inputs: Any, **options: Any) -> Any:
        """PyTorch's formula: each of its steps has a second derivative."""
        input, weight = inputs
        square = input.square().mean(dim=-1, keepdim=True)
        output = input * (square + options["eps"]).rsqrt()
        return output if weight is None else output * weight

    def terms(self, case: Case, inputs: Tensors) -> dict[str, int]:
        """D terms in a row, and one per row for the weight."""
        D = inputs["input"].shape[-1]
        R = inputs["input"].shape[:-1].numel()
        return {"output": D, "input": D, "weight": R + D}

    def scales(
        self, inputs: Tensors, case: Case, grad_outputs: Grads
    ) -> tuple[list[torch.Tensor], list[torch.Tensor | None]]:
        """From the formula, each difference as a sum of absolutes."""
        x = inputs["input"]
        eps = self.signature.resolve(case.options)["eps"]
        rrms = (x.square().mean(dim=-1, keepdim=True) + eps).rsqrt()
        xhat = (x * rrms).abs()
        weight = inputs.get("weight", torch.ones_like(x[..., :])).abs()
        if not grad_outputs:
            return [xhat * weight], [None, None]
        g = grad_outputs[0].abs() * weight
        to_input = rrms * (g + xhat * (g * xhat).mean(dim=-1, keepdim=True))
        to_weight = (grad_outputs[0].abs() * xhat).reshape(-1, x.shape[-1]).sum(0)
        wanted = self.wanted(case)
        pairs = zip((to_input, to_weight), wanted)
        return [xhat * weight], [s if want else None for s, want in pairs]

    def draw(self, rng: random.Random) -> dict[str, Any]:
        """Up to three leading axes."""
        lead = [side(rng, 1, 5) for _ in range(rng.choice([0, 1, 2, 3]))]
        D = side(rng, 1, 17)
        return {
            **{"shapes": {"input": [*lead, D]}, "D": D},
            "eps": rng.choice([1e-5, 1e-3, 0.1]),
            "without": [] if rng.random() < 0.8 else ["weight"],
            "layout": some_layout(rng, "input", "grad_output"),
        }


OPERATOR = RmsNorm()
