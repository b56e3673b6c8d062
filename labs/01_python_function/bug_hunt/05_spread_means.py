# SPDX-License-Identifier: MIT
"""05 spread means

  does     avg_pool2d by views of the image, one view for each kernel position
  seen     f-dangel/backpack issue 30 (2020) and PKUFlyingPig/CMU10-714 issue 6 (2024),
           in the backward of convolutions
  passes   the layers of most networks, and forward for all layers
  run      make grade T=01_python_function/bug_hunt/05

    output[n, c, oh, ow] = average over kh, kw of image[n, c, oh*s + kh, ow*s + kw]

image is the padded input. Along an axis, the windows cover
(count - 1) * stride + kernel pixels.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

Pair = int | tuple[int, int]


@dataclass(frozen=True)
class Axis:
    """The options of one axis."""

    kernel: int
    stride: int
    padding: int

    def count(self, length: int) -> int:
        """The number of windows that fit on `length` pixels."""
        return (length + 2 * self.padding - self.kernel) // self.stride + 1

    def pixels(self, place: int, count: int) -> slice:
        """The pixels that the windows read at one kernel position."""
        return slice(place, place + (count - 1) * self.stride + 1, self.stride)

    def cover(self, count: int) -> int:
        """The number of pixels from the first to the last that `count` windows read."""
        return (count - 1) * self.stride + self.kernel


class AvgPool2dFunction(torch.autograd.Function):
    """Adds a view for each kernel position, in forward and in backward."""

    @staticmethod
    def forward(ctx, input: Tensor, h: Axis, w: Axis) -> Tensor:
        ctx.size, ctx.axes = input.shape, (h, w)
        OH, OW = ctx.counts = h.count(input.shape[2]), w.count(input.shape[3])
        edges = (w.padding, w.padding, h.padding, h.padding)
        image = torch.nn.functional.pad(input, edges)  # (N, C, ...)
        output = input.new_zeros(*input.shape[:2], OH, OW)
        for kh in range(h.kernel):
            for kw in range(w.kernel):
                output = output + image[:, :, h.pixels(kh, OH), w.pixels(kw, OW)]
        return output / (h.kernel * w.kernel)  # (N, C, OH, OW)

    @staticmethod
    def backward(ctx, grad_output: Tensor) -> tuple[Tensor, None, None]:
        (N, C, IH, IW), (h, w), (OH, OW) = ctx.size, ctx.axes, ctx.counts
        share = grad_output / (h.kernel * w.kernel)  # (N, C, OH, OW)
        # BEGIN SOLUTION
        height, width = IH + 2 * h.padding, IW + 2 * w.padding
        # END SOLUTION
        # STARTER height, width = h.cover(OH), w.cover(OW)
        image = grad_output.new_zeros(N, C, height, width)
        for kh in range(h.kernel):
            for kw in range(w.kernel):
                view = image[:, :, h.pixels(kh, OH), w.pixels(kw, OW)]
                view += share  # (N, C, OH, OW)
        inner_h = slice(h.padding, height - h.padding)
        inner_w = slice(w.padding, width - w.padding)
        return image[:, :, inner_h, inner_w], None, None


def avg_pool2d(
    input: Tensor, kernel_size: Pair, stride: Pair, padding: Pair = 0
) -> Tensor:
    """torch.nn.functional.avg_pool2d of an image (N, C, IH, IW)."""
    given = kernel_size, stride, padding
    pairs = [(one, one) if isinstance(one, int) else one for one in given]
    h, w = (Axis(*numbers) for numbers in zip(*pairs, strict=True))
    return AvgPool2dFunction.apply(input, h, w)
