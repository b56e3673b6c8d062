# SPDX-License-Identifier: MIT
"""00 taps

  idea    a tap (kh, kw) is a slice of the padded image, times one weight per filter
  expect  the numbers of torch.nn.functional.conv2d with groups = IC
  limit   memory: each tap creates a tensor as large as the output
  run     make grade T=01_python_function/depthwise_conv2d/00

Each input channel has its own M = OC/IC filters; filter oc reads channel oc // M:

    output[n,oc,oh,ow] = bias[oc] + sum over kh, kw of
                         input[n, oc // M, ih, iw] * weight[oc,0,kh,kw]
    ih = oh*stride_h + kh*dilation_h - padding_h,  iw in the same way; 0 outside

The filters of a channel are adjacent, so a reshape gives the M filters an axis m.
Forward adds up KH*KW scaled slices. Backward loops over the same slices:

    grad_input  += grad_output * weight, at the tap's slice, summed over m
    grad_weight  = grad_output * slice, summed over n, oh, ow
    grad_bias    = grad_output, summed over n, oh, ow
"""

from __future__ import annotations

import torch
from torch import Tensor

Pair = int | tuple[int, int]
Window = tuple[tuple[int, int], ...]  # stride, padding, dilation, two numbers each


def pair(value: Pair) -> tuple[int, int]:
    """A single int is used for height and width."""
    return (value, value) if isinstance(value, int) else tuple(value)


def extent(size: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """The number of windows along one axis: OH from IH, OW from IW."""
    room = size + 2 * padding - (dilation * (kernel - 1) + 1)
    return max(room // stride + 1, 0)


def tap(image: Tensor, k: tuple[int, int], count, stride, dilation) -> Tensor:
    """The pixels that tap k = (kh, kw) reads: a view (N, IC, OH, OW) of a padded image.

    Along each axis: count pixels, from k * dilation, every stride-th pixel.
    """
    # BEGIN SOLUTION
    top, left = k[0] * dilation[0], k[1] * dilation[1]
    rows = slice(top, top + (count[0] - 1) * stride[0] + 1, stride[0])
    columns = slice(left, left + (count[1] - 1) * stride[1] + 1, stride[1])
    return image[:, :, rows, columns]
    # END SOLUTION
    # STARTER # your code (the reference takes 4 lines)
    # STARTER raise NotImplementedError


class DepthwiseConv2dFunction(torch.autograd.Function):
    """output = each channel convolved with its own filters, + bias."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        input: Tensor, weight: Tensor, bias: Tensor | None, window: Window
    ) -> Tensor:
        N, IC, IH, IW = input.shape
        OC, _, KH, KW = weight.shape
        stride, padding, dilation = window
        # BEGIN SOLUTION
        OH = extent(IH, KH, stride[0], padding[0], dilation[0])
        OW = extent(IW, KW, stride[1], padding[1], dilation[1])
        M, (top, left) = OC // IC, padding
        padded = torch.nn.functional.pad(input, (left, left, top, top))  # (N, IC, ...)
        filters = weight.reshape(IC, M, KH * KW, 1, 1)  # (IC, M, KH*KW, 1, 1)
        output = input.new_zeros(N, IC, M, OH, OW)
        for k in range(KH * KW):
            seen = tap(padded, divmod(k, KW), (OH, OW), stride, dilation)
            seen = seen[:, :, None]  # (N, IC, 1, OH, OW)
            output = output + seen * filters[:, :, k]  # (N, IC, M, OH, OW)
        output = output.reshape(N, OC, OH, OW)  # (N, OC, OH, OW)
        if bias is not None:
            output = output + bias.reshape(OC, 1, 1)  # (N, OC, OH, OW)
        return output
        # END SOLUTION
        # STARTER # your code (the reference takes 14 lines)
        # STARTER raise NotImplementedError

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:
        # BEGIN SOLUTION
        input, weight, _, ctx.window = inputs
        ctx.save_for_backward(input, weight)
        # END SOLUTION
        # STARTER # your code (the reference takes 2 lines)
        # STARTER pass

    @staticmethod
    def backward(ctx, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        stride, padding, dilation = ctx.window
        # BEGIN SOLUTION
        input, weight = ctx.saved_tensors  # (N, IC, IH, IW) (OC, 1, KH, KW)
        N, IC, IH, IW = input.shape
        OC, _, KH, KW = weight.shape
        grad_input = grad_weight = grad_bias = None
        M, (top, left) = OC // IC, padding
        grads = grad_output.unflatten(1, (IC, M))  # (N, IC, M, OH, OW)
        filters = weight.reshape(IC, M, KH * KW, 1, 1)  # (IC, M, KH*KW, 1, 1)
        padded = torch.nn.functional.pad(input, (left, left, top, top))  # (N, IC, ...)
        grad_padded = grads.new_zeros(padded.shape)  # (N, IC, ...)
        grad_filters = grads.new_zeros(filters.shape)  # (IC, M, KH*KW, 1, 1)
        for k in range(KH * KW):
            where = divmod(k, KW), grads.shape[3:], stride, dilation
            if ctx.needs_input_grad[0]:
                seen = tap(grad_padded, *where)  # (N, IC, OH, OW), a view
                seen += (grads * filters[:, :, k]).sum(2)
            if ctx.needs_input_grad[1]:
                products = grads * tap(padded, *where)[:, :, None]
                grad_filters[:, :, k, 0, 0] = products.sum((0, 3, 4))  # (IC, M)
        if ctx.needs_input_grad[0]:  # the padding has no gradient
            grad_input = grad_padded[:, :, top : top + IH, left : left + IW]
        if ctx.needs_input_grad[1]:
            grad_weight = grad_filters.reshape(weight.shape)  # (OC, 1, KH, KW)
        if ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum((0, 2, 3))  # (OC)
        return grad_input, grad_weight, grad_bias, None
        # END SOLUTION
        # STARTER # your code (the reference takes 25 lines)
        # STARTER raise NotImplementedError


def depthwise_conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Pair = 1,
    padding: Pair = 0,
    dilation: Pair = 1,
) -> Tensor:
    """torch.nn.functional.conv2d with groups = IC, for an input (N, IC, IH, IW)."""
    window = pair(stride), pair(padding), pair(dilation)
    return DepthwiseConv2dFunction.apply(input, weight, bias, window)


class DepthwiseConv2d(torch.nn.Module):
    """torch.nn.Conv2d(channels, channels * multiplier, ..., groups=channels).

    weight (OC, 1, KH, KW) and bias (OC) start uniform in (-bound, bound), bound =
    1 / sqrt(KH * KW). Draw the weight first, as torch.nn does with the same seed.
    """

    def __init__(
        self,
        channels: int,
        kernel_size: Pair,
        stride: Pair = 1,
        padding: Pair = 0,
        dilation: Pair = 1,
        bias: bool = True,
        multiplier: int = 1,
    ) -> None:
        super().__init__()
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        # BEGIN SOLUTION
        OC, (KH, KW) = channels * multiplier, pair(kernel_size)
        weight, bound = torch.empty(OC, 1, KH, KW), (KH * KW) ** -0.5
        self.weight = torch.nn.Parameter(weight.uniform_(-bound, bound))
        self.register_parameter("bias", None)  # the module knows it, even if None
        if bias:
            values = torch.empty(OC).uniform_(-bound, bound)  # (OC)
            self.bias = torch.nn.Parameter(values)
        # END SOLUTION
        # STARTER # your code (the reference takes 7 lines)
        # STARTER raise NotImplementedError

    def forward(self, input: Tensor) -> Tensor:
        return depthwise_conv2d(
            input, self.weight, self.bias, self.stride, self.padding, self.dilation
        )
