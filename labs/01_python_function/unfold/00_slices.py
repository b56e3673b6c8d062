# SPDX-License-Identifier: MIT
"""00 slices

  idea    one kernel position (kh, kw) reads a strided slice of the padded image
  expect  the numbers of torch.nn.functional.unfold, from KH*KW slices
  limit   memory: every element is written once for each window that contains it
  run     make grade T=01_python_function/unfold/00

unfold (im2col) makes one column of the output of each window of the image.

    output[n, (ic*KH + kh)*KW + kw, oh*OW + ow] = input[n, ic, ih, iw], or 0 outside
    ih = oh*stride_h + kh*dilation_h - padding_h,  iw in the same way

Forward only copies, so backward only adds. An element in several windows gets the sum
of the gradients of these windows (col2im):

    grad_input[n,ic,ih,iw] = sum of grad_output over all windows that read the element
"""

from __future__ import annotations

import torch
from torch import Tensor

Pair = int | tuple[int, int]


def pair(value: Pair) -> tuple[int, int]:
    """A single int is used for height and width."""
    return (value, value) if isinstance(value, int) else tuple(value)


def extent(size: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """The number of windows along one axis: OH from IH, OW from IW."""
    room = size + 2 * padding - (dilation * (kernel - 1) + 1)
    return max(room // stride + 1, 0)


def places(k: int, count: int, stride: int, dilation: int) -> slice:
    """The indices that kernel position k reads along a padded axis, in count windows.

    stride 2, dilation 1, count 3:    padded axis   0 1 2 3 4 5 6
                                      k = 0         ^   ^   ^
                                      k = 1           ^   ^   ^
    """
    # BEGIN SOLUTION
    start = k * dilation
    return slice(start, start + (count - 1) * stride + 1, stride)
    # END SOLUTION
    # STARTER # your code (the reference takes 2 lines)
    # STARTER raise NotImplementedError


class UnfoldFunction(torch.autograd.Function):
    """output = the windows of input as columns; only sizes are saved."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        input: Tensor,
        kernel_size: tuple[int, int],
        dilation: tuple[int, int],
        padding: tuple[int, int],
        stride: tuple[int, int],
    ) -> Tensor:
        N, IC, IH, IW = input.shape
        KH, KW = kernel_size
        OH = extent(IH, KH, stride[0], padding[0], dilation[0])
        OW = extent(IW, KW, stride[1], padding[1], dilation[1])
        # BEGIN SOLUTION
        top, left = padding
        padded = torch.nn.functional.pad(input, (left, left, top, top))  # (N, IC, ...)
        windows = []
        for kh in range(KH):
            rows = places(kh, OH, stride[0], dilation[0])
            for kw in range(KW):
                columns = places(kw, OW, stride[1], dilation[1])
                windows.append(padded[:, :, rows, columns])  # (N, IC, OH, OW)
        output = torch.stack(windows, dim=2)  # (N, IC, KH*KW, OH, OW)
        return output.reshape(N, IC * KH * KW, OH * OW)  # (N, IC*KH*KW, OH*OW)
        # END SOLUTION
        # STARTER # your code (the reference takes 10 lines)
        # STARTER raise NotImplementedError

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:
        input, *ctx.window = inputs  # kernel_size, dilation, padding, stride
        ctx.input_shape = input.shape

    @staticmethod
    def backward(ctx, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        # no test of needs_input_grad: autograd calls this only if input needs it
        N, IC, IH, IW = ctx.input_shape
        (KH, KW), dilation, padding, stride = ctx.window
        OH = extent(IH, KH, stride[0], padding[0], dilation[0])
        OW = extent(IW, KW, stride[1], padding[1], dilation[1])
        # BEGIN SOLUTION
        top, left = padding
        padded = grad_output.new_zeros(N, IC, IH + 2 * top, IW + 2 * left)
        taps = grad_output.reshape(N, IC, KH, KW, OH, OW)  # (N, IC, KH, KW, OH, OW)
        for kh in range(KH):
            rows = places(kh, OH, stride[0], dilation[0])
            for kw in range(KW):
                columns = places(kw, OW, stride[1], dilation[1])
                window = padded[:, :, rows, columns]  # (N, IC, OH, OW), a view
                window += taps[:, :, kh, kw]  # (N, IC, OH, OW)
        grad_input = padded[:, :, top : top + IH, left : left + IW]  # (N, IC, IH, IW)
        return grad_input, None, None, None, None
        # END SOLUTION
        # STARTER # your code (the reference takes 11 lines)
        # STARTER raise NotImplementedError


def unfold(
    input: Tensor,
    kernel_size: Pair,
    dilation: Pair = 1,
    padding: Pair = 0,
    stride: Pair = 1,
) -> Tensor:
    """torch.nn.functional.unfold for an input (N, IC, IH, IW)."""
    return UnfoldFunction.apply(
        input, pair(kernel_size), pair(dilation), pair(padding), pair(stride)
    )


class Unfold(torch.nn.Module):
    """torch.nn.Unfold; it has no parameters."""

    def __init__(
        self, kernel_size: Pair, dilation: Pair = 1, padding: Pair = 0, stride: Pair = 1
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)
