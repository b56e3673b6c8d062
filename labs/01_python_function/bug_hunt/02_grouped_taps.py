# SPDX-License-Identifier: MIT
"""02 grouped taps

  does     conv2d: for each kernel position, one product over all pixels
  seen     pytorch/pytorch issue 51430 (2021), fixed by pull request 81839: a function
           of torch.nn.grad disagreed with autograd
  passes   the layers of most networks, and forward for all layers
  run      make grade T=01_python_function/bug_hunt/02

seen (N, G, IC/G, OH, OW) holds the pixels under kernel position (kh, kw), for all
windows. The channels of a group are adjacent, and so are the filters of a group.

    output    += weight[..., kh, kw] @ seen        within each group
    grad_seen  = weight[..., kh, kw]^T @ grad_output
    grad_weight[..., kh, kw] = sum over n, oh, ow of grad_output * seen
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

Pair = int | tuple[int, int]


def both(option: Pair) -> tuple[int, int]:
    """A single int is used for both axes."""
    return (option, option) if isinstance(option, int) else (option[0], option[1])


class Windows:
    """The options of a convolution: stride, padding and dilation, without groups."""

    def __init__(self, stride: Pair, padding: Pair, dilation: Pair) -> None:
        self.stride, self.padding = both(stride), both(padding)
        self.dilation = both(dilation)

    def padded(self, image: Tensor) -> Tensor:
        """The image with zeros around it."""
        top, left = self.padding
        return torch.nn.functional.pad(image, (left, left, top, top))

    def places(
        self, padded: Tensor, kernel: torch.Size
    ) -> Iterator[tuple[int, Tensor]]:
        """Yield each kernel position's number and a view of the pixels under it."""
        reach = [(k - 1) * d for k, d in zip(kernel, self.dilation, strict=True)]
        for place in range(kernel.numel()):
            where = divmod(place, kernel[1])
            h, w = (
                slice(k * d, length - (r - k * d), s)
                for k, d, r, s, length in zip(
                    where,
                    self.dilation,
                    reach,
                    self.stride,
                    padded.shape[2:],
                    strict=True,
                )
            )
            yield place, padded[:, :, h, w]


class Conv2dFunction(torch.autograd.Function):
    """There is no unfold: each kernel position reads a view of the padded image."""

    @staticmethod
    def forward(
        ctx,
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        windows: Windows,
        groups: int,
    ) -> Tensor:
        ctx.save_for_backward(weight, input)
        ctx.windows, ctx.groups = windows, groups
        filters = weight.flatten(2).unflatten(0, (groups, -1))  # (G, OC/G, IC/G, KH*KW)
        output = torch.zeros((), dtype=input.dtype)
        for place, seen in windows.places(windows.padded(input), weight.shape[2:]):
            seen = seen.unflatten(1, (groups, -1))  # (N, G, IC/G, OH, OW)
            taps = filters[..., place]  # (G, OC/G, IC/G)
            output = output + torch.einsum("goi,ngihw->ngohw", taps, seen)
        output = output.flatten(1, 2)  # (N, OC, OH, OW)
        return output if bias is None else output + bias[:, None, None]

    @staticmethod
    def backward(ctx, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        weight, input = ctx.saved_tensors
        windows, G = ctx.windows, ctx.groups
        to_input = to_weight = to_bias = None
        wants = ctx.needs_input_grad
        filters = weight.flatten(2).unflatten(0, (G, -1))  # (G, OC/G, IC/G, KH*KW)
        grads = grad_output.unflatten(1, (G, -1))  # (N, G, OC/G, OH, OW)
        if wants[0]:
            back = torch.zeros_like(windows.padded(input))  # (N, IC, ...)
            for place, view in windows.places(back, weight.shape[2:]):
                part = torch.einsum("goi,ngohw->ngihw", filters[..., place], grads)
                view += part.flatten(1, 2)  # (N, IC, OH, OW)
            (top, left), (IH, IW) = windows.padding, input.shape[2:]
            to_input = back[:, :, top : top + IH, left : left + IW]  # (N, IC, IH, IW)
        if wants[1]:
            parts = []
            # BEGIN SOLUTION
            sides = grads  # (N, G, OC/G, OH, OW)
            # END SOLUTION
            # STARTER sides = grad_output.unflatten(1, (-1, G)).transpose(1, 2)
            for _, seen in windows.places(windows.padded(input), weight.shape[2:]):
                seen = seen.unflatten(1, (G, -1))  # (N, G, IC/G, OH, OW)
                parts.append(torch.einsum("ngohw,ngihw->goi", sides, seen))
            to_weight = torch.stack(parts, -1).reshape(weight.shape)
        if wants[2]:
            to_bias = torch.einsum("nohw->o", grad_output)  # (OC)
        return to_input, to_weight, to_bias, None, None


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Pair = 1,
    padding: Pair = 0,
    dilation: Pair = 1,
    groups: int = 1,
) -> Tensor:
    """torch.nn.functional.conv2d of an image (N, IC, IH, IW)."""
    windows = Windows(stride, padding, dilation)
    return Conv2dFunction.apply(input, weight, bias, windows, groups)


class Conv2d(torch.nn.Conv2d):
    """torch.nn.Conv2d with our forward; its parameters start as in PyTorch."""

    def forward(self, input: Tensor) -> Tensor:
        options = self.stride, self.padding, self.dilation, self.groups
        return conv2d(input, self.weight, self.bias, *options)
