# SPDX-License-Identifier: MIT
"""group_norm: torch.nn.functional.group_norm of rows of L numbers."""

from __future__ import annotations

import random
from typing import Any

import torch

from grader.operators.case import Case
from grader.operators.entry import Grads, Tensors, side, some_layout
from grader.operators.norm import Norm


class GroupNorm(Norm):
    """Each group of channels with mean 0 and variance 1."""

    name = "group_norm"
    forbidden = ("*norm*", "var_mean", "std_mean")

    def reference(self, *inputs: Any, **options: Any) -> Any:
        """torch.nn.functional.group_norm."""
        input, weight, bias = inputs
        groups, eps = options["num_groups"], options["eps"]
        return torch.nn.functional.group_norm(input, groups, weight, bias, eps)

    def terms(self, case: Case, inputs: Tensors) -> dict[str, int]:
        """The numbers of a group, and N*L for the gradients of a parameter."""
        N, C, L = inputs["input"].shape
        group = C // self.signature.resolve(case.options)["num_groups"] * L
        return {
            "output": group,
            "input": group,
            "weight": N * L + group,
            "bias": N * L,
        }

    def scales(
        self, inputs: Tensors, case: Case, grad_outputs: Grads
    ) -> tuple[list[torch.Tensor], list[torch.Tensor | None]]:
        """From the formula, each difference as a sum of absolutes."""
        options = self.signature.resolve(case.options)
        x = inputs["input"]
        N, C, L = x.shape
        groups = x.reshape(N, options["num_groups"], -1)  # (N, G, C/G*L)
        variance = groups.var(-1, keepdim=True, unbiased=False)
        rstd = (variance + options["eps"]).rsqrt()  # (N, G, 1)
        size = groups.abs() + groups.abs().mean(dim=-1, keepdim=True)
        xhat = (size * rstd).reshape(x.shape)
        one = x.new_ones(C)
        weight = inputs.get("weight", one).abs()[:, None]
        bias = inputs.get("bias", 0 * one).abs()[:, None]
        output = xhat * weight + bias
        if not grad_outputs:
            return [output], [None, None, None]
        grad = grad_outputs[0].abs()
        g, h = (t.reshape(groups.shape) for t in (grad * weight, xhat))
        along = h * (g * h).mean(dim=-1, keepdim=True)
        to_input = rstd * (g + g.mean(dim=-1, keepdim=True) + along)
        found = [to_input.reshape(x.shape), (grad * xhat).sum((0, 2)), grad.sum((0, 2))]
        wanted = self.wanted(case)
        return [output], [s if want else None for s, want in zip(found, wanted)]

    def draw(self, rng: random.Random) -> dict[str, Any]:
        """Any number of groups, each of at least two numbers."""
        groups = side(rng, 1, 3)
        return {
            **{"N": side(rng, 1, 3), "L": side(rng, 2, 6)},
            **{"C": groups * side(rng, 1, 3), "num_groups": groups},
            "without": [n for n in ("weight", "bias") if rng.random() < 0.2],
            "layout": some_layout(rng, "input", "grad_output"),
        }


OPERATOR = GroupNorm()
