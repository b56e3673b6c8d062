# SPDX-License-Identifier: MIT
"""lltm: the cell of PyTorch's C++ extension tutorial."""

from __future__ import annotations

import random
from typing import Any

import torch

from grader.operators.base import Case, Operator, Tensors, side, some_layout


class Lltm(Operator):
    """Not a sum of products: its scales come from bounds on each step's derivative."""

    name = "lltm"
    forbidden = ("*lstm*", "*gru*", "*rnn*")
    primitives = ("mm", "addmm", "linear", "elu", "sigmoid", "tanh", "cat", "chunk")

    def reference(self, *inputs: Any, **options: Any) -> Any:
        """The tutorial's forward, by torch.nn.functional."""
        _, _, _, _, c = inputs
        i, o, g = self._gates(*inputs[:4]).chunk(3, dim=1)  # (N, H) each
        new_c = c + g * i
        return torch.tanh(new_c) * o, new_c

    def _gates(self, input: Any, weight: Any, bias: Any, h: Any) -> torch.Tensor:
        joined = torch.cat([h, input], dim=1)  # (N, H+IC)
        i, o, g = torch.nn.functional.linear(joined, weight, bias).chunk(3, dim=1)
        return torch.cat([i.sigmoid(), o.sigmoid(), torch.nn.functional.elu(g)], dim=1)

    def saved(self, inputs: Tensors, case: Case) -> list[Any]:
        """The activated gates."""
        return [(self._gates(*list(inputs.values())[:4]), None)]

    def _preact_scale(self, inputs: Tensors) -> torch.Tensor:
        """The absolute terms of the sum in front of each gate, (N, 3H)."""
        input, weight, bias, h = (t.abs() for t in list(inputs.values())[:4])
        joined = torch.cat([h, input], dim=1)  # (N, H+IC)
        return torch.nn.functional.linear(joined, weight, bias)

    def saved_scale(self, inputs: Tensors, case: Case) -> list[torch.Tensor | None]:
        """No gate moves faster than the sum in front of it."""
        return [1 + self._preact_scale(inputs)]

    def scales(
        self, inputs: Tensors, case: Case, grad_outputs: list[torch.Tensor]
    ) -> tuple[list[torch.Tensor], list[torch.Tensor | None]]:
        """Forward and backward in absolutes: sigmoid' <= 1/4, tanh' and elu' <= 1."""
        input, weight, bias, h, c = inputs.values()
        preact = self._preact_scale(inputs).chunk(3, dim=1)  # (N, H) each
        i, o, g = self._gates(input, weight, bias, h).chunk(3, dim=1)
        tanh = torch.tanh(c + g * i).abs()
        i, o, g = i + preact[0] / 4, o + preact[1] / 4, g.abs() + preact[2]
        new_c = c.abs() + g * i
        outputs = [(tanh + new_c) * o, new_c]
        if not grad_outputs:
            return outputs, [None] * len(self.signature.gradients)
        grad_h, grad_c = (grad.abs() for grad in grad_outputs)
        grad_c = grad_c + grad_h * o * (1 + new_c)
        blocks = [grad_c * g / 4, grad_h * (tanh + new_c) / 4, grad_c * i]
        gates = torch.cat([b * (1 + p) for b, p in zip(blocks, preact)], dim=1)
        joined = torch.cat([h, input], dim=1).abs()  # (N, H+IC)
        grad_joined = gates @ weight.abs()  # (N, H+IC)
        H = h.shape[1]
        found = [
            grad_joined[:, H:],
            gates.T @ joined,
            gates.sum(0),
            grad_joined[:, :H],
            grad_c,
        ]
        return outputs, [s if w else None for s, w in zip(found, self.wanted(case))]

    def terms(self, case: Case, inputs: Tensors) -> dict[str, int]:
        """A row of the weight forward; 3H or N terms backward, and the gates."""
        three_h, joined = inputs["weight"].shape
        longest = 16 + joined + three_h + inputs["input"].shape[0]
        names = ("new_h", "new_c", "gates", *self.signature.gradients)
        return dict.fromkeys(names, longest)

    def draw(self, rng: random.Random) -> dict[str, Any]:
        """Small states."""
        names = ("input", "weight", "h", "c", "grad_new_h", "grad_new_c")
        return {
            "N": side(rng, 1, 5),
            "IC": side(rng, 1, 7),
            "H": side(rng, 1, 6),
            "layout": some_layout(rng, *names),
        }


OPERATOR = Lltm()
