# SPDX-License-Identifier: MIT
"""00 unfold matmul

  idea    unfold makes each window a column; then convolution is a matrix product
  expect  the numbers of torch.nn.functional.conv2d
  limit   memory: at stride 1 the columns are about KH*KW times as large as the input
  run     make grade T=01_python_function/conv2d/00

    output[n,oc,oh,ow] = bias[oc] + sum over ic, kh, kw of
                         input[n, g*IC/G + ic, ih, iw] * weight[oc,ic,kh,kw]
    ih = oh*stride_h + kh*dilation_h - padding_h,  iw in the same way; 0 outside
    g  = oc / (OC/G): the channels form G groups; filter oc reads only group g

With col = unfold(input), each group of each image is one matrix product:

    output (GM, GN) = weight (GM, GK) @ col (GK, GN)
    GM = OC/G filters     GK = IC/G * KH * KW weights a filter     GN = OH * OW windows

Backward uses the gradients of a matrix product, then the gradient of unfold: fold. fold
adds each column to the pixels that the column was read from.

    grad_input  = fold(weight^T @ grad_output)
    grad_weight = sum over n of grad_output[n] @ col[n]^T
    grad_bias   = sum over n, oh, ow of grad_output
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


class Conv2dFunction(torch.autograd.Function):
    """output = conv2d(input, weight) + bias; saves input, not its larger columns."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        stride: tuple[int, int],
        padding: tuple[int, int],
        dilation: tuple[int, int],
        groups: int,
    ) -> Tensor:
        N, IC, IH, IW = input.shape
        OC, _, KH, KW = weight.shape
        # BEGIN SOLUTION
        OH = extent(IH, KH, stride[0], padding[0], dilation[0])
        OW = extent(IW, KW, stride[1], padding[1], dilation[1])
        G, GM, GK, GN = groups, OC // groups, IC // groups * KH * KW, OH * OW
        order = (KH, KW), dilation, padding, stride  # as unfold takes them
        col = torch.nn.functional.unfold(input, *order)  # (N, IC*KH*KW, OH*OW)
        filters = weight.reshape(G, GM, GK)  # (G, GM, GK)
        output = filters @ col.reshape(N, G, GK, GN)  # (N, G, GM, GN)
        output = output.reshape(N, OC, OH, OW)  # (N, OC, OH, OW)
        if bias is not None:
            output = output + bias.reshape(OC, 1, 1)  # (N, OC, OH, OW)
        return output
        # END SOLUTION
        # STARTER # your code (the reference takes 11 lines)
        # STARTER raise NotImplementedError

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:
        # BEGIN SOLUTION
        input, weight, _, stride, padding, dilation, ctx.groups = inputs
        ctx.save_for_backward(input, weight)
        ctx.window = weight.shape[2:], dilation, padding, stride  # in unfold's order
        # END SOLUTION
        # STARTER # your code (the reference takes 3 lines)
        # STARTER pass

    @staticmethod
    def backward(ctx, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        # BEGIN SOLUTION
        input, weight = ctx.saved_tensors  # (N, IC, IH, IW) (OC, IC/G, KH, KW)
        N, IC, IH, IW = input.shape
        _, OC, OH, OW = grad_output.shape
        G, GM, GN = ctx.groups, OC // ctx.groups, OH * OW
        GK = weight.shape[1:].numel()
        grad_product = grad_output.reshape(N, G, GM, GN)  # (N, G, GM, GN)
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            filters = weight.reshape(G, GM, GK)  # (G, GM, GK)
            grad_col = filters.mT @ grad_product  # (N, G, GK, GN)
            grad_col = grad_col.reshape(N, G * GK, GN)  # (N, IC*KH*KW, OH*OW)
            # (N, IC, IH, IW)
            grad_input = torch.nn.functional.fold(grad_col, (IH, IW), *ctx.window)
        if ctx.needs_input_grad[1]:
            col = torch.nn.functional.unfold(input, *ctx.window)  # (N, IC*KH*KW, OH*OW)
            col = col.reshape(N, G, GK, GN)  # (N, G, GK, GN)
            grad_weight = (grad_product @ col.mT).sum(0)  # (G, GM, GK)
            grad_weight = grad_weight.reshape(weight.shape)  # (OC, IC/G, KH, KW)
        if ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum((0, 2, 3))  # (OC)
        return grad_input, grad_weight, grad_bias, None, None, None, None
        # END SOLUTION
        # STARTER # your code (the reference takes 20 lines)
        # STARTER raise NotImplementedError


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Pair = 1,
    padding: Pair = 0,
    dilation: Pair = 1,
    groups: int = 1,
) -> Tensor:
    """torch.nn.functional.conv2d for an input (N, IC, IH, IW)."""
    return Conv2dFunction.apply(
        input, weight, bias, pair(stride), pair(padding), pair(dilation), groups
    )


class Conv2d(torch.nn.Module):
    """torch.nn.Conv2d: a weight (OC, IC/G, KH, KW) and, unless bias is False, a bias.

    Both start uniform in (-bound, bound), bound = 1 / sqrt(IC/G * KH * KW). Draw the
    weight first: then the same seed gives torch.nn's weights, up to rounding.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Pair,
        stride: Pair = 1,
        padding: Pair = 0,
        dilation: Pair = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.groups = groups
        # BEGIN SOLUTION
        KH, KW = pair(kernel_size)
        weight = torch.empty(out_channels, in_channels // groups, KH, KW)  # (OC, ...)
        bound = weight.shape[1:].numel() ** -0.5
        self.weight = torch.nn.Parameter(weight.uniform_(-bound, bound))
        self.register_parameter("bias", None)  # the module knows it, even if None
        if bias:
            values = torch.empty(out_channels).uniform_(-bound, bound)  # (OC)
            self.bias = torch.nn.Parameter(values)
        # END SOLUTION
        # STARTER # your code (the reference takes 8 lines)
        # STARTER raise NotImplementedError

    def forward(self, input: Tensor) -> Tensor:
        return conv2d(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self.dilation,
            self.groups,
        )
