# SPDX-License-Identifier: MIT
"""Judges operators that multiply each input element by a share of it."""

from __future__ import annotations

import random

import torch

from grader.operators.case import Case
from grader.operators.entry import Grads, Operator, Tensors, side


def any_shape(rng: random.Random) -> list[int]:
    """Up to four axes, or none."""
    return [side(rng, 1, 7) for _ in range(rng.randint(0, 4))]


class Activation(Operator):
    """x times a share between 0 and 1, as gelu and silu are."""

    def terms(self, case: Case, inputs: Tensors) -> dict[str, int]:
        """A handful of roundings, no sum."""
        return {"output": 8, "input": 16}

    def scales(
        self, inputs: Tensors, case: Case, grad_outputs: Grads
    ) -> tuple[list[torch.Tensor], list[torch.Tensor | None]]:
        """|x| forward, |grad_output| * (1 + |x|) backward."""
        x = inputs["input"].abs()
        return [x], [g.abs() * (1 + x) for g in grad_outputs]
