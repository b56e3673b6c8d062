# SPDX-License-Identifier: MIT
"""05 spread windows

  does     unfold by views of the image; backward adds the columns to a new image
  seen     f-dangel/backpack issue 30 (2020) and PKUFlyingPig/CMU10-714 issue 6 (2024):
           some sizes of a strided convolution had a gradient of the wrong shape
  passes   the layers of most networks, and forward for all layers
  run      make grade T=01_python_function/bug_hunt/05

    output[n, (ic, kh, kw), (oh, ow)] = image[n, ic, oh*s + kh*d, ow*s + kw*d]

image is the padded input. Along an axis, the windows cover
(count - 1) * stride + (kernel - 1) * dilation + 1 pixels.
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
    dilation: int
    padding: int
    stride: int

    def count(self, length: int) -> int:
        """The number of windows that fit on `length` pixels."""
        room = length + 2 * self.padding - (self.kernel - 1) * self.dilation - 1
        return room // self.stride + 1

    def pixels(self, place: int, count: int) -> slice:
        """The pixels that the windows read at one kernel position."""
        start = place * self.dilation
        return slice(start, start + (count - 1) * self.stride + 1, self.stride)

    def cover(self, count: int) -> int:
        """The number of pixels from the first to the last that `count` windows read."""
        return (count - 1) * self.stride + (self.kernel - 1) * self.dilation + 1


class UnfoldFunction(torch.autograd.Function):
    """Copies a view for each kernel position, in forward and in backward."""

    @staticmethod
    def forward(ctx, input: Tensor, h: Axis, w: Axis) -> Tensor:
        ctx.size, ctx.axes = input.shape, (h, w)
        ctx.counts = h.count(input.shape[2]), w.count(input.shape[3])
        edges = (w.padding, w.padding, h.padding, h.padding)
        image = torch.nn.functional.pad(input, edges)  # (N, IC, ...)
        rows = [h.pixels(place, ctx.counts[0]) for place in range(h.kernel)]
        columns = [w.pixels(place, ctx.counts[1]) for place in range(w.kernel)]
        seen = [image[:, :, row, column] for row in rows for column in columns]
        return torch.stack(seen, 2).flatten(3).flatten(1, 2)  # (N, IC*KH*KW, OH*OW)

    @staticmethod
    def backward(ctx, grad_output: Tensor) -> tuple[Tensor, None, None]:
        (N, IC, IH, IW), (h, w), (OH, OW) = ctx.size, ctx.axes, ctx.counts
        parts = grad_output.reshape(N, IC, h.kernel, w.kernel, OH, OW)
        # BEGIN SOLUTION
        height, width = IH + 2 * h.padding, IW + 2 * w.padding
        # END SOLUTION
        # STARTER height, width = h.cover(OH), w.cover(OW)
        image = grad_output.new_zeros(N, IC, height, width)
        for kh in range(h.kernel):
            for kw in range(w.kernel):
                view = image[:, :, h.pixels(kh, OH), w.pixels(kw, OW)]
                view += parts[:, :, kh, kw]  # (N, IC, OH, OW)
        inner_h = slice(h.padding, height - h.padding)
        inner_w = slice(w.padding, width - w.padding)
        return image[:, :, inner_h, inner_w], None, None


def unfold(
    input: Tensor,
    kernel_size: Pair,
    dilation: Pair = 1,
    padding: Pair = 0,
    stride: Pair = 1,
) -> Tensor:
    """torch.nn.functional.unfold of an image (N, IC, IH, IW)."""
    given = kernel_size, dilation, padding, stride
    pairs = [(one, one) if isinstance(one, int) else one for one in given]
    h, w = (Axis(*numbers) for numbers in zip(*pairs, strict=True))
    return UnfoldFunction.apply(input, h, w)


class Unfold(torch.nn.Unfold):
    """torch.nn.Unfold with this forward."""

    def forward(self, input: Tensor) -> Tensor:
        options = self.kernel_size, self.dilation, self.padding, self.stride
        return unfold(input, *options)
