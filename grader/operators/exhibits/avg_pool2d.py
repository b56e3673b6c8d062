# SPDX-License-Identifier: MIT
"""avg_pool2d: torch.nn.functional.avg_pool2d; zeros of the padding count."""

from __future__ import annotations

import random
from typing import Any

import torch

from grader.operators.case import Case
from grader.operators.entry import Operator, Tensors, numel, side, some_layout


class AvgPool2d(Operator):
    """The mean of the KH*KW numbers under each window."""

    name = "avg_pool2d"
    forbidden = ("*pool*", "im2col", "col2im", "unfold", "*conv*")

    def reference(self, *inputs: Any, **options: Any) -> Any:
        """torch.nn.functional.avg_pool2d."""
        return torch.nn.functional.avg_pool2d(*inputs, **options)

    def terms(self, case: Case, inputs: Tensors) -> dict[str, int]:
        """One term for each kernel position."""
        kernel = self.signature.resolve(case.options)["kernel_size"]
        return {"output": numel(kernel), "input": numel(kernel)}

    def draw(self, rng: random.Random) -> dict[str, Any]:
        """Any window that fits. PyTorch wants at most half a kernel of padding."""
        line: dict[str, Any] = {"N": side(rng, 1, 3), "C": side(rng, 1, 3)}
        kernel = [side(rng, 1, 4), side(rng, 1, 4)]
        line["kernel_size"] = kernel
        line["stride"] = [side(rng, 1, 4), side(rng, 1, 4)]
        line["padding"] = [rng.randint(0, k // 2) for k in kernel]
        line["IH"], line["IW"] = (k + rng.randint(0, 5) for k in kernel)
        line["layout"] = some_layout(rng, "input", "grad_output")
        return line


OPERATOR = AvgPool2d()
