# SPDX-License-Identifier: MIT
"""layer_norm: torch.nn.functional.layer_norm over the last axis."""

from __future__ import annotations

import random
from typing import Any

import torch

from grader.operators.case import Case
from grader.operators.entry import Grads, Tensors, numel, side, some_layout
from grader.operators.layouts import dense
from grader.operators.norm import Norm


class LayerNorm(Norm):
    """mean and rstd are compared too: later rungs hand them to each other."""

    name = "layer_norm"
    forbidden = ("*layer_norm*", "*batch_norm*", "*group_norm*", "var_mean", "std_mean")

    def reference(self, *inputs: Any, **options: Any) -> Any:
        """torch.nn.functional.layer_norm; a weight that is absent is ones, for without
        one PyTorch's second derivative raises an error (2.15).
        """
        input, weight, bias = inputs
        shape = input.shape[-1:]
        if weight is None:
            weight = input.new_ones(shape)
        return torch.nn.functional.layer_norm(
            input, shape, weight, bias, eps=options["eps"]
        )

    def _moments(self, inputs: Tensors, case: Case) -> tuple[torch.Tensor, ...]:
        """In two passes: torch.native_layer_norm, in one, loses a digit of rstd where a
        row's numbers lie close together.
        """
        eps = self.signature.resolve(case.options)["eps"]
        mean = inputs["input"].mean(dim=-1, keepdim=True)
        variance = (inputs["input"] - mean).square().mean(dim=-1, keepdim=True)
        return mean, (variance + eps).rsqrt()  # (..., 1) both

    def saved(self, inputs: Tensors, case: Case) -> list[Any]:
        """mean and rstd of each row."""
        return [(t.squeeze(-1), None) for t in self._moments(inputs, case)]

    def saved_scale(self, inputs: Tensors, case: Case) -> list[torch.Tensor | None]:
        """A mean of |x|, and rstd itself, twice, and once more for each standard
        deviation that the row lies away from 0: so far Welford's sums may be off.
        """
        mean, rstd = (t.squeeze(-1) for t in self._moments(inputs, case))
        return [inputs["input"].abs().mean(-1), rstd * (2 + mean.abs() * rstd)]

    def terms(self, case: Case, inputs: Tensors) -> dict[str, int]:
        """D terms in a row, and one per row for weight and bias."""
        D = inputs["input"].shape[-1]
        R = inputs["input"].shape[:-1].numel()
        return {
            "output": D,
            "input": D,
            "weight": R + D,
            "bias": R,
            "mean": D,
            "rstd": D,
        }

    def scales(
        self, inputs: Tensors, case: Case, grad_outputs: Grads
    ) -> tuple[list[torch.Tensor], list[torch.Tensor | None]]:
        """From the formula in operators.h, each difference as a sum of absolutes."""
        mean, rstd = self._moments(inputs, case)
        x = inputs["input"]
        one = torch.ones(x.shape[-1], dtype=x.dtype)
        weight = inputs.get("weight", one).abs()
        bias = inputs.get("bias", 0 * one).abs()
        spread = rstd * (x.abs() + x.abs().mean(dim=-1, keepdim=True))
        xhat = spread + ((x - mean) * rstd).abs()
        output = xhat * weight + bias
        if not grad_outputs:
            return [output], [None, None, None]
        grad = grad_outputs[0].abs()
        dx = grad * weight
        rows = tuple(range(x.dim() - 1))
        grad_input = rstd * (
            dx
            + dx.mean(dim=-1, keepdim=True)
            + xhat * (dx * xhat).mean(dim=-1, keepdim=True)
        )
        scales = [grad_input, (grad * xhat).sum(rows), grad.sum(rows)]
        if not rows:
            scales[1:] = [grad * xhat, grad]
        wanted = self.wanted(case)
        return [output], [s if want else None for s, want in zip(scales, wanted)]

    def fits_module(self, case: Case) -> bool:
        """torch.nn.LayerNorm has no bias without a weight."""
        return "weight" not in case.without or "bias" in case.without

    def tags(self, case: Case) -> dict[str, bool]:
        """How long rows are; but for `all` and short ones there are some."""
        shapes = self.input_shapes(case)
        *lead, D = shapes["input"]
        vectors = numel(lead) > 0 and D % 16 == 0
        shapes["grad_output"] = shapes["input"]
        in_a_row = all(dense(shapes, case.layout).values()) and not case.without
        packs = numel(lead) > 0 and D % 4 == 0 and D <= 512
        weighted = "weight" not in case.without
        return {
            "all": True,
            "short_rows": D <= 128,
            "whole_vectors": vectors,
            "short_whole_vectors": vectors and D <= 128 and weighted,
            "packed_rows": in_a_row and packs,
        }

    def draw(self, rng: random.Random) -> dict[str, Any]:
        """Up to three leading axes."""
        lead = [side(rng, 1, 5) for _ in range(rng.choice([0, 1, 2, 3]))]
        D = side(rng, 2, 17)
        return {
            "shapes": {"input": [*lead, D]},
            "D": D,
            "eps": rng.choice([1e-5, 1e-3, 0.1]),
            "without": [n for n in ("weight", "bias") if rng.random() < 0.2],
            "layout": some_layout(rng, "input", "grad_output"),
        }


OPERATOR = LayerNorm()
