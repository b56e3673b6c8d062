# SPDX-License-Identifier: MIT
"""00 sorted keys

  idea    give each point one number, its key; search a neighbour's key among all keys
  expect  the numbers of a dense conv3d, read at the points
  limit   each kernel position needs one search per point and one matrix product
  run     make grade T=01_python_function/subm_conv3d/00

P points at (n, z, y, x) have features. k = (kd*KH + kh)*KW + kw is a kernel position.
Row `write` is the computed point. At position k it reads row `read`, the point at

    n,  z + (kd - KD/2)*dilation_d,  y + (kh - KH/2)*dilation_h,  x in the same way

if this point exists. These pairs are the rulebook of the position:

    output[write]       = bias + sum over k, pairs of weight[k] @ features[read]
    grad_features[read] = sum over k, pairs of weight[k]^T @ grad_output[write]
    grad_weight[k]      = sum over pairs of grad_output[write] features[read]^T
    grad_bias           = sum over points of grad_output
"""

from __future__ import annotations

import torch
from torch import Tensor

Triple = int | tuple[int, int, int]


def triple(value: Triple) -> tuple[int, int, int]:
    """A single int is used for depth, height and width."""
    return (value, value, value) if isinstance(value, int) else tuple(value)


def neighbours(
    coordinates: Tensor, kernel: tuple[int, int, int], dilation: tuple[int, int, int]
) -> Tensor:
    """The row that each point reads at each kernel position, or -1 if there is none.

    The argument is coordinates (P, 4). The result is (KD*KH*KW, P).
    """
    KD, KH, KW = kernel
    P = coordinates.shape[0]
    # BEGIN SOLUTION
    reads = torch.full((KD * KH * KW, P), -1, dtype=torch.int64)  # (KD*KH*KW, P)
    if P == 0:
        return reads
    places = coordinates.long()  # (P, 4)
    span = places.amax(0) - places.amin(0) + 1  # (4)
    # lines are longer than needed, so a step never ends in the next line
    W = span[3] + dilation[2] * (KW // 2)
    H = span[2] + dilation[1] * (KH // 2)
    D = span[1] + dilation[0] * (KD // 2)
    step = torch.stack([D * H * W, H * W, W, torch.ones_like(W)])  # (4)
    key = ((places - places.amin(0)) * step).sum(1)  # (P)
    order = torch.argsort(key)  # (P)
    in_order = key[order]  # (P)
    for k in range(KD * KH * KW):
        z = (k // KW // KH - KD // 2) * dilation[0]
        y = (k // KW % KH - KH // 2) * dilation[1]
        x = (k % KW - KW // 2) * dilation[2]
        wanted = key + z * step[1] + y * step[2] + x  # (P)
        at = torch.searchsorted(in_order, wanted).clamp(max=P - 1)  # (P)
        reads[k] = torch.where(in_order[at] == wanted, order[at], -1)  # (P)
    return reads
    # END SOLUTION
    # STARTER # your code (the reference takes 20 lines)
    # STARTER raise NotImplementedError


class SubmConv3dFunction(torch.autograd.Function):
    """output = subm_conv3d(features, weight) + bias; reads is what neighbours found.

    reads (KD*KH*KW, P) is an argument, so that it need not be searched again.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(
        features: Tensor, weight: Tensor, bias: Tensor | None, reads: Tensor
    ) -> Tensor:
        P = features.shape[0]
        OC, IC = weight.shape[:2]
        # BEGIN SOLUTION
        taps = weight.reshape(OC, IC, reads.shape[0])  # (OC, IC, KD*KH*KW)
        output = features.new_zeros(P, OC)  # (P, OC)
        if bias is not None:
            output = output + bias  # (P, OC)
        for k in range(reads.shape[0]):
            write = (reads[k] >= 0).nonzero()[:, 0]  # (pairs)
            read = reads[k][write]  # (pairs)
            terms = features[read] @ taps[:, :, k].mT  # (pairs, OC)
            output = output.index_add(0, write, terms)  # (P, OC)
        return output
        # END SOLUTION
        # STARTER # your code (the reference takes 10 lines)
        # STARTER raise NotImplementedError

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:
        # BEGIN SOLUTION
        features, weight, _, reads = inputs
        ctx.save_for_backward(features, weight, reads)
        # END SOLUTION
        # STARTER # your code (the reference takes 2 lines)
        # STARTER pass

    @staticmethod
    def backward(ctx, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        # BEGIN SOLUTION
        features, weight, reads = ctx.saved_tensors  # (P, IC) (OC, IC, ...) (K, P)
        OC, IC = weight.shape[:2]
        taps = weight.reshape(OC, IC, reads.shape[0])  # (OC, IC, KD*KH*KW)
        of_features, of_weight, of_bias, _ = ctx.needs_input_grad
        grad_features = grad_weight = None
        if of_features:
            grad_features = grad_output.new_zeros(features.shape)  # (P, IC)
        if of_weight:
            grad_weight = grad_output.new_zeros(weight.shape)  # (OC, IC, ...)
        for k in range(reads.shape[0]):
            write = (reads[k] >= 0).nonzero()[:, 0]  # (pairs)
            read = reads[k][write]  # (pairs)
            grad = grad_output[write]  # (pairs, OC)
            if of_features:
                grad_features[read] += grad @ taps[:, :, k]  # (pairs, IC)
            if of_weight:  # flatten is a view: grad_weight itself is written
                grad_weight.flatten(2)[:, :, k] = grad.mT @ features[read]  # (OC, IC)
        grad_bias = grad_output.sum(0) if of_bias else None  # (OC)
        return grad_features, grad_weight, grad_bias, None
        # END SOLUTION
        # STARTER # your code (the reference takes 19 lines)
        # STARTER raise NotImplementedError


def subm_conv3d(
    features: Tensor,
    coordinates: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    dilation: Triple = 1,
) -> Tensor:
    """Features (P, IC) at points (P, 4) with a weight (OC, IC, KD, KH, KW)."""
    kernel = tuple(weight.shape[2:])
    reads = neighbours(coordinates, kernel, triple(dilation))  # (KD*KH*KW, P)
    return SubmConv3dFunction.apply(features, weight, bias, reads)


class SubmConv3d(torch.nn.Module):
    """A weight (OC, IC, KD, KH, KW) and, unless bias is False, a bias (OC).

    Both start as in torch.nn.Conv3d: uniform in (-bound, bound), bound =
    1 / sqrt(IC * KD * KH * KW). Draw the weight first. The kernel sizes are odd.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Triple,
        dilation: Triple = 1,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.dilation = dilation
        # BEGIN SOLUTION
        kernel = triple(kernel_size)
        weight = torch.empty(out_channels, in_channels, *kernel)  # (OC, IC, KD, KH, KW)
        bound = weight.shape[1:].numel() ** -0.5
        self.weight = torch.nn.Parameter(weight.uniform_(-bound, bound))
        self.register_parameter("bias", None)  # the module knows it, even if None
        if bias:
            values = torch.empty(out_channels).uniform_(-bound, bound)  # (OC)
            self.bias = torch.nn.Parameter(values)
        # END SOLUTION
        # STARTER # your code (the reference takes 8 lines)
        # STARTER raise NotImplementedError

    def forward(self, features: Tensor, coordinates: Tensor) -> Tensor:
        return subm_conv3d(features, coordinates, self.weight, self.bias, self.dilation)
