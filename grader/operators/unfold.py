# SPDX-License-Identifier: MIT
"""unfold (im2col): torch.nn.functional.unfold; its gradient is fold (col2im)."""

from __future__ import annotations

import random
from typing import Any

import torch

from grader.operators.case import Case
from grader.operators.entry import Operator, Tensors, numel, side, some_layout
from grader.operators.primitives import EVERY_CONVOLUTION
from grader.operators.windows import draw_window


class Unfold(Operator):
    """In lab 01 built of padding, slices and sums."""

    name = "unfold"
    forbidden = ("im2col", "col2im", "unfold", "unfold_backward", EVERY_CONVOLUTION)

    def reference(self, *inputs: Any, **options: Any) -> Any:
        """torch.nn.functional.unfold."""
        return torch.nn.functional.unfold(*inputs, **options)

    def terms(self, case: Case, inputs: Tensors) -> dict[str, int]:
        """Copies forward; backward at most one term per place in the kernel."""
        kernel = self.signature.resolve(case.options)["kernel_size"]
        return {"output": 1, "input": numel(kernel)}

    def tags(self, case: Case) -> dict[str, bool]:
        """Whether windows are one step apart."""
        return {"stride_1": self.signature.resolve(case.options)["stride"] == (1, 1)}

    def draw(self, rng: random.Random) -> dict[str, Any]:
        """Any window that fits."""
        line = draw_window(rng)
        line["kernel_size"] = [line.pop("KH"), line.pop("KW")]
        line.update(N=side(rng, 1, 3), IC=side(rng, 1, 4))
        line["layout"] = some_layout(rng, "input", "grad_output")
        return line


OPERATOR = Unfold()
