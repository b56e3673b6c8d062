# SPDX-License-Identifier: MIT
"""conv2d: torch.nn.functional.conv2d, all options."""

from __future__ import annotations

import random
from typing import Any

from torch.nn import functional as F

from grader.operators.case import Case
from grader.operators.entry import Grads, Operator, Tensors, side, some_layout
from grader.operators.primitives import EVERY_CONVOLUTION, MATRIX_PRODUCTS
from grader.operators.windows import draw_window


class Conv2d(Operator):
    """In lab 01 built of unfold, fold and matrix products."""

    name = "conv2d"
    forbidden = (EVERY_CONVOLUTION,)
    primitives = (*MATRIX_PRODUCTS, "im2col", "col2im", "addmm", "linear")

    def reference(self, *inputs: Any, **options: Any) -> Any:
        """torch.nn.functional.conv2d."""
        return F.conv2d(*inputs, **options)

    def terms(self, case: Case, inputs: Tensors) -> dict[str, int]:
        """The window forward; filters or pixels backward."""
        OC, channels, KH, KW = inputs["weight"].shape
        groups = self.signature.resolve(case.options)["groups"]
        N, _, IH, IW = inputs["input"].shape
        pixels = N * (IH + 2 * 3) * (IW + 2 * 3)  # no more windows than that
        return {
            "output": channels * KH * KW + 1,
            "input": OC // groups * KH * KW,
            "weight": pixels,
            "bias": pixels,
        }

    def beyond(
        self, inputs: Tensors, case: Case, grad_outputs: Grads, result: str
    ) -> float:
        """As if zeros stood around the image, as far as a kernel reaches."""
        options = self.signature.resolve(case.options)
        input, weight = inputs["input"].abs(), inputs["weight"].abs()
        more: dict[str, Any] = {"dilation": options["dilation"]}
        more["groups"] = options.get("groups", input.shape[1])  # depthwise has none
        if result == "output":
            steps = zip(weight.shape[2:], options["dilation"])
            reach = [(K - 1) * dilation for K, dilation in steps]
            wide = F.conv2d(input, weight, padding=reach, **more)
        elif result == "grad_input":
            more["stride"] = options["stride"]
            wide = F.conv_transpose2d(grad_outputs[0].abs(), weight, **more)
        else:
            return 0.0
        return float(wide.nan_to_num(0.0, posinf=0.0).max()) if wide.numel() else 0.0

    def draw(self, rng: random.Random) -> dict[str, Any]:
        """Any window, up to three groups, with and without bias."""
        line = draw_window(rng)
        groups = rng.choice([1, 1, 2, 3])
        line.update(
            N=side(rng, 1, 3),
            IC=groups * side(rng, 1, 3),
            OC=groups * side(rng, 1, 3),
            groups=groups,
            without=["bias"] if rng.random() < 0.3 else [],
            layout=some_layout(rng, "input", "weight", "bias", "grad_output"),
        )
        return line


class Depthwise(Conv2d):
    """conv2d with one group per input channel."""

    name = "depthwise_conv2d"

    def reference(self, *inputs: Any, **options: Any) -> Any:
        """torch.nn.functional.conv2d with groups = IC."""
        groups = inputs[0].shape[1]
        return F.conv2d(*inputs, **{**options, "groups": groups})

    def terms(self, case: Case, inputs: Tensors) -> dict[str, int]:
        """The window forward; the filters of a channel, or pixels, backward."""
        OC, _, KH, KW = inputs["weight"].shape
        N, IC, IH, IW = inputs["input"].shape
        pixels = N * (IH + 2 * 3) * (IW + 2 * 3)
        per_channel = OC // IC * KH * KW
        return {
            "output": KH * KW + 1,
            "input": per_channel,
            "weight": pixels,
            "bias": pixels,
        }

    def draw(self, rng: random.Random) -> dict[str, Any]:
        """Any window, up to three filters per channel."""
        line = super().draw(rng)
        del line["groups"]
        line["OC"] = line["IC"] * side(rng, 1, 3)
        return line


OPERATOR = Conv2d()
