# SPDX-License-Identifier: MIT
"""conv_transpose2d: torch.nn.functional.conv_transpose2d with one group."""

from __future__ import annotations

import random
from typing import Any

import torch

from grader.operators.case import Case
from grader.operators.entry import Operator, Tensors, numel, side, some_layout


class ConvTranspose2d(Operator):
    """Each input pixel adds its multiple of the kernel to the output."""

    name = "conv_transpose2d"
    forbidden = ("*conv*", "col2im", "im2col")

    def reference(self, *inputs: Any, **options: Any) -> Any:
        """torch.nn.functional.conv_transpose2d."""
        return torch.nn.functional.conv_transpose2d(*inputs, **options)

    def terms(self, case: Case, inputs: Tensors) -> dict[str, int]:
        """At most a term for each input channel and kernel position."""
        IC, OC, *kernel = inputs["weight"].shape
        N, _, *image = inputs["input"].shape
        places = numel(kernel)
        pixels = N * numel(image)
        return {
            "output": IC * places + 1,
            "input": OC * places,
            "weight": pixels,
            "bias": pixels * places,
        }

    def draw(self, rng: random.Random) -> dict[str, Any]:
        """Any options that leave at least one pixel."""
        line: dict[str, Any] = {"stride": [], "padding": [], "dilation": []}
        for axis in "HW":
            kernel, dilation, stride = (side(rng, 1, 3) for _ in range(3))
            size = side(rng, 1, 5)
            span = (size - 1) * stride + dilation * (kernel - 1) + 1
            line[f"I{axis}"], line[f"K{axis}"] = size, kernel
            line["stride"].append(stride)
            line["dilation"].append(dilation)
            line["padding"].append(rng.randint(0, (span - 1) // 2))
        return {
            **line,
            **{name: side(rng, 1, 3) for name in ("N", "IC", "OC")},
            "without": ["bias"] if rng.random() < 0.3 else [],
            "layout": some_layout(rng, "input", "weight", "grad_output"),
        }


OPERATOR = ConvTranspose2d()
