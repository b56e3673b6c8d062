# SPDX-License-Identifier: MIT
"""02 traced sizes: defines the public function and its rules with torch.library.

A fake kernel computes the sizes of the results, for tensors without data. PyTorch calls
a fake kernel when it traces a program, but never in eager mode.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

Pair = int | tuple[int, int]


def as_pair(option: Pair) -> list[int]:
    """A list with one number for each axis."""
    return [option, option] if isinstance(option, int) else list(option)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Pair = 1,
    padding: Pair = 0,
    dilation: Pair = 1,
    groups: int = 1,
) -> Tensor:
    """torch.nn.functional.conv2d by the kernel of 02_traced_sizes.cpp."""
    pairs = [as_pair(option) for option in (stride, padding, dilation)]
    return torch.ops.convlab.conv2d(input, weight, bias, *pairs, groups)


def fake(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    groups: int,
) -> Tensor:
    """The output: for each filter a plane, with one element per window."""
    extents = []
    for axis in (0, 1):
        reach = dilation[axis] * (weight.shape[2 + axis] - 1)
        room = input.shape[2 + axis] + 2 * padding[axis] - reach - 1
        # BEGIN SOLUTION
        extents.append(room // stride[axis] + 1)
        # END SOLUTION
        # STARTER extents.append(room // stride[0] + 1)
    return input.new_empty(input.shape[0], weight.shape[0], *extents)


def fake_backward(
    grad_output: Tensor, input: Tensor, weight: Tensor, *options: Any
) -> tuple[Tensor, ...]:
    """If a gradient is wanted, it has its tensor's shape. Otherwise it is empty."""
    shapes = input.shape, weight.shape, weight.shape[:1]
    pairs = zip(shapes, options[-1], strict=True)
    return tuple(input.new_empty(shape if wanted else (0,)) for shape, wanted in pairs)


def keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    """Save both factors and the options for backward."""
    ctx.options = inputs[3:]
    ctx.save_for_backward(inputs[0], inputs[1])


def backward(ctx: Any, grad_output: Tensor) -> tuple[Any, ...]:
    """Call the operator conv2d_backward."""
    mask = list(ctx.needs_input_grad[:3])
    found = torch.ops.convlab.conv2d_backward(
        grad_output, *ctx.saved_tensors, *ctx.options, mask
    )
    kept = [one if wanted else None for one, wanted in zip(found, mask, strict=True)]
    return *kept, None, None, None, None


def rules(namespace: str) -> None:
    """Register these rules with PyTorch."""
    torch.library.register_fake(f"{namespace}::conv2d", fake)
    torch.library.register_fake(f"{namespace}::conv2d_backward", fake_backward)
    torch.library.register_autograd(
        f"{namespace}::conv2d", backward, setup_context=keep
    )
