# SPDX-License-Identifier: MIT
"""conv2d: torch.nn.functional.conv2d, all options."""

from __future__ import annotations

import math
import random
from typing import Any

from torch.nn import functional as F

from grader.operators.case import Case
from grader.operators.entry import Grads, Operator, Tensors, side, some_layout
from grader.operators.layouts import dense
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

    def tags(self, case: Case) -> dict[str, bool]:
        """Kernels, strides and channels; most words leave an empty batch out."""
        shapes, options = self.input_shapes(case), self.signature.resolve(case.options)
        _, channels, KH, KW = shapes["weight"]  # channels of a group
        groups, stride = options["groups"], options["stride"]
        dilation, padding = options["dilation"], options["padding"]
        K, area = channels * KH * KW, KH * KW
        some, many = shapes["input"][0] > 0, channels >= 16
        small, three = max(KH, KW) <= 15, (KH, KW) == (3, 3)
        still = stride == (1, 1)
        plain = some and groups == math.prod(dilation) == 1
        steps = math.prod(stride) * math.prod(dilation) > 1
        tiled = plain and still and max(padding) < KH
        halved = plain and three and stride == (2, 2)
        point = some and still and area * groups == 1 and padding == (0, 0)
        strided = some and groups == 1 and many and steps and 1 < area <= 64
        parts = some and still and three and many and groups * math.prod(dilation) > 1
        tiles = (tiled and (KH, KW) in ((3, 3), (5, 5))) or halved
        in_a_row = dense({"weight": shapes["weight"]}, case.layout)["weight"]
        return {
            "all": True,
            "small_kernel": small,
            "packed_filters": small and in_a_row and K % 8 == 0,
            "few_channels": channels <= 4 and K <= 256,
            "pointwise": point,
            "winograd_3x3": tiled and three,
            "winograd_5x5": tiled and (KH, KW) == (5, 5),
            "winograd_strided": halved,
            "winograd_strided_padded": halved and padding == (1, 1),
            "winograd_many_channels": many and tiles,
            "strided_many_channels": strided,
            "grouped_or_dilated": parts,
        }

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

    def tags(self, case: Case) -> dict[str, bool]:
        """Kernels, strides and filters; most words leave an empty batch out."""
        shapes, options = self.input_shapes(case), self.signature.resolve(case.options)
        OC, _, *kernel = shapes["weight"]
        N, IC, _, IW = shapes["input"]
        stride, padding = options["stride"], options["padding"]
        dilation = options["dilation"]
        reach = [d * (K - 1) for d, K in zip(dilation, kernel)]
        below_reach = all(p <= r for p, r in zip(padding, reach))
        rows = N > 0 and kernel[0] in (3, 5) and stride[0] == dilation[0] == 1
        moved = math.prod(stride) > 1
        return {
            "all": True,
            "non_empty": N > 0,
            "small_kernel": max(reach) <= 15 and max(stride) <= 4,
            "three_or_five_rows": rows,
            "three_or_five_rows_stride_1": rows and not moved,
            "single_filter": N > 0 and OC == IC and below_reach,
            "strided_or_multiplied": N > 0 and (moved or OC > IC),
            # at most two windows side by side
            "narrow": N > 0 and IW + 2 * padding[1] - reach[1] - 1 < 2 * stride[1],
        }

    def draw(self, rng: random.Random) -> dict[str, Any]:
        """Any window, up to three filters per channel."""
        line = super().draw(rng)
        del line["groups"]
        line["OC"] = line["IC"] * side(rng, 1, 3)
        return line


OPERATOR = Conv2d()
