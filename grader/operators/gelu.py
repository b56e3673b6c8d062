# SPDX-License-Identifier: MIT
"""gelu: torch.nn.functional.gelu, both forms."""

from __future__ import annotations

import random
from typing import Any

import torch

from grader.operators.activation import Activation, any_shape
from grader.operators.case import Case
from grader.operators.entry import numel, some_layout
from grader.operators.layouts import dense


class Gelu(Activation):
    """x/2 * (1 + erf) loses digits where erf is near -1: the error is that of x."""

    name = "gelu"
    forbidden = ("gelu", "gelu_", "gelu_backward", "*mkldnn*")
    primitives = ("erf", "tanh")

    def reference(self, *inputs: Any, **options: Any) -> Any:
        """torch.nn.functional.gelu."""
        (x,) = inputs
        return torch.nn.functional.gelu(x, approximate=options["approximate"])

    def tags(self, case: Case) -> dict[str, bool]:
        """Whether all tensors lie in a row of whole packs."""
        shape = self.input_shapes(case)["input"]
        in_a_row = dense({"input": shape, "grad_output": shape}, case.layout)
        packs = case.aligned or numel(shape) % 8 == 0
        return {"packed": packs and all(in_a_row.values())}

    def draw(self, rng: random.Random) -> dict[str, Any]:
        """Any shape, also none."""
        return {
            "shapes": {"input": any_shape(rng)},
            "approximate": rng.choice(["none", "tanh"]),
            "layout": some_layout(rng, "input", "grad_output"),
        }


OPERATOR = Gelu()
