# SPDX-License-Identifier: MIT
"""conv2d: the public function, and the rules of the operators conv2d, conv2d_backward.

The derivatives are those of any product (_bilinear.py). What is conv2d's own: sizes,
and that a batch axis can be hidden in N, or in the groups.
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


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | tuple[int, int] = 1,
    padding: int | tuple[int, int] | str = 0,
    dilation: int | tuple[int, int] = 1,
    groups: int = 1,
) -> Tensor:
    """torch.nn.functional.conv2d by convlab's kernels; also one image without N."""
    must_be_tensor("conv2d", "input", input)
    if input.dim() == 3:
        image = batch_of_one("conv2d", input)
        return conv2d(image, weight, bias, stride, padding, dilation, groups)[0]
    stride = pair("conv2d", "stride", stride)
    dilation = pair("conv2d", "dilation", dilation)
    if isinstance(padding, str) and padding == "same":
        input, padding = padded_same("conv2d", input, weight, stride, dilation)
    elif isinstance(padding, str) and padding == "valid":
        padding = 0
    zeros = pair("conv2d", "padding", padding)
    output = convlab.conv2d(input, weight, bias, stride, zeros, dilation, groups)
    return like_pytorchs(output, input, weight)


class Conv2d(Bilinear):
    """conv2d(input, weight, bias, stride, padding, dilation, groups) -> output."""

    name = "conv2d"

    def fake(self, input, weight, bias, stride, padding, dilation, groups):
        """(N, OC, OH, OW), row-major; channels that do not fit are refused."""
        # BEGIN SOLUTION
        N, IC, IH, IW = sizes("input", input, "(N, IC, IH, IW)")
        OC, expected, KH, KW = sizes("weight", weight, "(OC, IC/G, KH, KW)")
        fits = groups > 0 and expected * groups == IC and OC % groups == 0
        said = f"'weight' expects {expected} channels in each of {groups} groups"
        torch._check(fits, lambda: f"{said}, 'input' has {IC}; {OC} filters")
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
        """A batch axis B: images of one filter join N, filters of their own join G."""
        # BEGIN SOLUTION
        B = info.batch_size
        if in_dims[1] is None and in_dims[2] is None:
            images = input.movedim(in_dims[0], 0)  # (B, N, IC, IH, IW)
            output = self.operator(images.flatten(0, 1), weight, bias, *options)
            return output.unflatten(0, (B, -1)), 0
        *windows, groups = options
        images = joined(input, in_dims[0], 1, B)  # (N, B*IC, IH, IW)
        filters = joined(weight, in_dims[1], 0, B)  # (B*OC, IC/G, KH, KW)
        if bias is not None:
            bias = joined(bias, in_dims[2], 0, B)  # (B*OC)
        output = self.operator(images, filters, bias, *windows, groups * B)
        return output.unflatten(1, (B, -1)), 1  # (N, B, OC, OH, OW)
        # END SOLUTION
        # STARTER # your code (the reference takes 12 lines)
        # STARTER raise NotImplementedError


class Conv2dBackward(BilinearBackward):
    """conv2d_backward(grad_output, input, weight, options..., output_mask)."""

    def vmap(self, info, in_dims, grad_output, input, weight, *options):
        """A batch axis B joins the groups: each example has gradients of its own."""
        # BEGIN SOLUTION
        *windows, groups, mask = options
        B = info.batch_size
        outputs = joined(grad_output, in_dims[0], 1, B)  # (N, B*OC, OH, OW)
        images = joined(input, in_dims[1], 1, B)  # (N, B*IC, IH, IW)
        filters = joined(weight, in_dims[2], 0, B)  # (B*OC, IC/G, KH, KW)
        found = self.operator(outputs, images, filters, *windows, groups * B, mask)
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
    forward = Conv2d(namespace)
    register(forward)
    register(Conv2dBackward(forward))
