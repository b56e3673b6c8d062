# SPDX-License-Identifier: MIT
"""add: torch.add with broadcasting and alpha."""

from __future__ import annotations

import random
from typing import Any

import torch

from grader.operators.case import Case
from grader.operators.entry import Grads, Operator, Tensors, numel, side, some_layout
from grader.operators.layouts import dense


def two_shapes(rng: random.Random) -> dict[str, list[int]]:
    """Shapes that broadcast, missing axes and ones included."""
    shape = [side(rng, 1, 6) for _ in range(rng.randint(0, 4))]
    pair = []
    for _ in range(2):
        kept = shape[rng.randint(0, len(shape)) if rng.random() < 0.3 else 0 :]
        pair.append([1 if rng.random() < 0.3 else extent for extent in kept])
    return {"input": pair[0], "other": pair[1]}


def times_stretched(inputs: Tensors) -> dict[str, int]:
    """The terms of a gradient: how often its operand is read."""
    whole = torch.broadcast_tensors(*inputs.values())[0].numel()
    return {name: whole // max(1, one.numel()) for name, one in inputs.items()}


class Add(Operator):
    """In lab 01 a plain sum of two tensors of one shape is allowed, the rest is the
    task.
    """

    name = "add"
    forbidden = ("addcdiv", "lerp", "sum_to_size", "broadcast_tensors", "_foreach_add")
    plain_add = True
    also_tiny = also_infinite = ("other",)

    def reference(self, *inputs: Any, **options: Any) -> Any:
        """torch.add; its gradient sums over what was broadcast."""
        return torch.add(*inputs, alpha=options["alpha"])

    def scales(
        self, inputs: Tensors, case: Case, grad_outputs: Grads
    ) -> tuple[list[torch.Tensor], list[torch.Tensor | None]]:
        """As for sums of products, with the absolute value of alpha too."""
        alpha = abs(self.signature.resolve(case.options)["alpha"])
        positive = Case(case.name, options={"alpha": alpha}, wanted=case.wanted)
        return super().scales(inputs, positive, grad_outputs)

    def terms(self, case: Case, inputs: Tensors) -> dict[str, int]:
        """A gradient sums over the axes along which its operand was stretched."""
        return {"output": 2, **times_stretched(inputs)}

    def tags(self, case: Case) -> dict[str, bool]:
        """Which operands have the result's shape, and lie in a row."""
        shapes = self.input_shapes(case)
        whole = torch.broadcast_shapes(*shapes.values())
        fits = {name: numel(shape) == numel(whole) for name, shape in shapes.items()}
        in_a_row = dense({**shapes, "grad_output": whole}, case.layout)
        back = in_a_row.pop("grad_output")
        both = all(fits.values()) and all(in_a_row.values())
        packs = case.aligned or numel(whole) % 8 == 0
        return {
            "not_stretched": both,
            "input_not_stretched": fits["input"] and back,
            "other_not_stretched": fits["other"] and back,
            "packed": both and back and packs,
        }

    def draw(self, rng: random.Random) -> dict[str, Any]:
        """Any two shapes, and a few numbers for alpha."""
        return {
            "shapes": two_shapes(rng),
            "alpha": rng.choice([1, 1, -2.5, 0.5, 3]),
            "layout": some_layout(rng, "input", "other", "grad_output"),
        }


OPERATOR = Add()
