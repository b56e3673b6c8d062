# SPDX-License-Identifier: MIT
"""depthwise_conv2d: the public function, and the rules of both its operators.

The derivatives are those of any product (_bilinear.py). What is depthwise_conv2d's own:
sizes, and that a batch axis can be hidden in N, or among the channels.
"""

from __future__ import annotations

import torch
from torch import Tensor

from convlab_ext._bilinear import Bilinear, BilinearBackward
from convlab_ext._refusals import must_be_tensor
from convlab_ext._rules import convlab, joined, register, same_kind, sizes
from convlab_ext._windows import (
    batch_of_one,
    extents,
    like_pytorchs,
    padded_same,
    pair,
)


def depthwise_conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | tuple[int, int] = 1,
    padding: int | tuple[int, int] | str = 0,
    dilation: int | tuple[int, int] = 1,
) -> Tensor:
    """torch.nn.functional.conv2d with groups=IC, by convlab's kernels.

    It takes one image without N as well.
    """
    name = "depthwise_conv2d"
    must_be_tensor(name, "input", input)
    if input.dim() == 3:
        image = batch_of_one(name, input)
        return depthwise_conv2d(image, weight, bias, stride, padding, dilation)[0]
    stride = pair(name, "stride", stride)
    dilation = pair(name, "dilation", dilation)
    if isinstance(padding, str) and padding == "same":
        input, padding = padded_same(name, input, weight, stride, dilation)
    elif isinstance(padding, str) and padding == "valid":
        padding = 0
    zeros = pair(name, "padding", padding)
    output = convlab.depthwise_conv2d(input, weight, bias, stride, zeros, dilation)
    return like_pytorchs(output, input, weight)


class DepthwiseConv2d(Bilinear):
    """depthwise_conv2d(input, weight, bias, stride, padding, dilation) -> output."""

    name = "depthwise_conv2d"

    def fake(self, input, weight, bias, stride, padding, dilation):
        """(N, OC, OH, OW), row-major; channels that do not fit are refused."""
        # BEGIN SOLUTION
        N, IC, IH, IW = sizes("input", input, "(N, IC, IH, IW)")
        OC, expected, KH, KW = sizes("weight", weight, "(OC, 1, KH, KW)")
        torch._check(expected == 1, lambda: "'weight' must be (OC, 1, KH, KW)")
        said = f"'weight' has {OC} filters, not a multiple of the {IC} of 'input'"
        torch._check(IC > 0 and OC % IC == 0, lambda: said)
        fits = bias is None or bias.shape == weight.shape[:1]
        torch._check(fits, lambda: f"'bias' must be ({OC}), got {bias.shape}")
        same_kind(input, weight, bias)
        OH, OW = extents((IH, IW), (KH, KW), stride, padding, dilation)
        return input.new_empty(N, OC, OH, OW)
        # END SOLUTION
        # STARTER # your code (the reference takes 10 lines)
        # STARTER raise NotImplementedError

    def spread(self, bias, sizes):
        """One number a channel."""
        return bias[:, None, None].expand(sizes)  # (N, OC, OH, OW)

    def vmap(self, info, in_dims, input, weight, bias, *options):
        """A batch axis B: images of one filter join N, filters of their own join IC."""
        # BEGIN SOLUTION
        B = info.batch_size
        if in_dims[1] is None and in_dims[2] is None:
            images = input.movedim(in_dims[0], 0)  # (B, N, IC, IH, IW)
            output = self.operator(images.flatten(0, 1), weight, bias, *options)
            return output.unflatten(0, (B, -1)), 0
        images = joined(input, in_dims[0], 1, B)  # (N, B*IC, IH, IW)
        filters = joined(weight, in_dims[1], 0, B)  # (B*OC, 1, KH, KW)
        if bias is not None:
            bias = joined(bias, in_dims[2], 0, B)  # (B*OC)
        output = self.operator(images, filters, bias, *options)
        return output.unflatten(1, (B, -1)), 1  # (N, B, OC, OH, OW)
        # END SOLUTION
        # STARTER # your code (the reference takes 11 lines)
        # STARTER raise NotImplementedError


class DepthwiseConv2dBackward(BilinearBackward):
    """Backward (grad_output, input, weight, options..., output_mask)."""

    def vmap(self, info, in_dims, grad_output, input, weight, *options):
        """A batch axis B joins the channels: each example has gradients of its own."""
        # BEGIN SOLUTION
        *windows, mask = options
        B = info.batch_size
        outputs = joined(grad_output, in_dims[0], 1, B)  # (N, B*OC, OH, OW)
        images = joined(input, in_dims[1], 1, B)  # (N, B*IC, IH, IW)
        filters = joined(weight, in_dims[2], 0, B)  # (B*OC, 1, KH, KW)
        found = self.operator(outputs, images, filters, *windows, mask)
        axes = [axis if want else None for axis, want in zip((1, 0, 0), mask)]
        split = [
            g if axis is None else g.unflatten(axis, (B, -1))
            for g, axis in zip(found, axes)
        ]
        return tuple(split), tuple(axes)
        # END SOLUTION
        # STARTER # your code (the reference takes 12 lines)
        # STARTER raise NotImplementedError


def rules(namespace: str) -> None:
    """Register both operators' rules."""
    forward = DepthwiseConv2d(namespace)
    register(forward)
    register(DepthwiseConv2dBackward(forward))
