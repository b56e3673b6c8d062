# SPDX-License-Identifier: MIT
"""The operator lltm: the cell of PyTorch's C++ extension tutorial."""

from __future__ import annotations

import random
from typing import Any

import torch
from signatures import Argument

from grader.operators.case import Case
from grader.operators.entry import Grads, Operator, Tensors, side, some_layout

LARGE = 1000.0


class Lltm(Operator):
    """Not a sum of products: its scales come from bounds on each step's derivative."""

    name = "lltm"
    forbidden = ("*lstm*", "*gru*", "*rnn*")
    primitives = ("mm", "addmm", "linear", "elu", "sigmoid", "tanh", "cat", "chunk")

    def fill(
        self, argument: Argument, shape: tuple[int, ...], case: Case, rng: Any
    ) -> torch.Tensor:
        """With values = "large" every gate and tanh is far out, where an exponential
        overflows in double, too.
        """
        numbers = super().fill(argument, shape, case, rng)
        large = case.values == "large" and argument.name in ("input", "h", "c")
        return numbers * LARGE if large else numbers

    def reference(self, *inputs: Any, **options: Any) -> Any:
        """The tutorial's forward, by torch.nn.functional."""
        _, _, _, _, c = inputs
        i, o, g = self._gates(*inputs[:4]).chunk(3, dim=1)  # (N, H) each
        new_c = c + g * i
        return torch.tanh(new_c) * o, new_c

    def _gates(self, input: Any, weight: Any, bias: Any, h: Any) -> torch.Tensor:
        joined = torch.hstack((h, input))  # (N, H+IC)
        i, o, g = torch.nn.functional.linear(joined, weight, bias).chunk(3, dim=1)
        return torch.cat([i.sigmoid(), o.sigmoid(), torch.nn.functional.elu(g)], dim=1)

    def saved(self, inputs: Tensors, case: Case) -> list[Any]:
        """The activated gates."""
        return [(self._gates(*list(inputs.values())[:4]), None)]

    def _preact_scale(self, absolute: Tensors) -> torch.Tensor:
        """The absolute terms of the sum in front of each gate, (N, 3H)."""
        input, weight, bias, h = list(absolute.values())[:4]
        joined = torch.hstack((h, input))  # (N, H+IC)
        return torch.nn.functional.linear(joined, weight, bias)

    def saved_scale(self, inputs: Tensors, case: Case) -> list[torch.Tensor | None]:
        """No gate moves faster than the sum in front of it."""
        return [1 + self._preact_scale({k: t.abs() for k, t in inputs.items()})]

    def scales(
        self, inputs: Tensors, case: Case, grad_outputs: Grads
    ) -> tuple[list[torch.Tensor], list[torch.Tensor | None]]:
        """PyTorch's derivative of a forward that grows at least as fast, on absolutes:
        sigmoid' <= 1/4, tanh' and elu' <= 1.
        """
        leaves = {k: t.abs().requires_grad_() for k, t in inputs.items()}
        sums = self._preact_scale(leaves).chunk(3, dim=1)  # (N, H) each
        gates = self._gates(*list(inputs.values())[:4]).abs().chunk(3, dim=1)
        i, o, g = (a + s * f for a, s, f in zip(gates, sums, (0.25, 0.25, 1.0)))
        new_c = leaves["c"] + g * i
        outputs = [(1 + new_c) * o, new_c]
        found: list[torch.Tensor | None] = [None] * len(self.signature.gradients)
        if grad_outputs:
            names = self.signature.gradients
            grads = [grad.abs() for grad in grad_outputs]
            made = torch.autograd.grad(outputs, [leaves[n] for n in names], grads)
            found = [s if w else None for s, w in zip(made, self.wanted(case))]
        return [t.detach() for t in outputs], found

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
