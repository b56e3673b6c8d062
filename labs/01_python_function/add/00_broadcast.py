# SPDX-License-Identifier: MIT
"""00 broadcast

  idea    expand both operands to one shape as views, then add equal shapes
  expect  the numbers of torch.add, which also expands its operands first
  limit   alpha * other is a new tensor; a C loop needs no such copy
  run     make grade T=01_python_function/add/00

Shapes are aligned at the last axis, and missing axes count as 1. An axis of size 1 is
read again for every index of the other operand's axis:

    output = stretch(input) + alpha * stretch(other)

If forward reads an element several times, backward adds up several gradients. So the
gradient of stretch is a sum over the stretched axes:

    grad_input = sum_to(grad_output, shape of input)
    grad_other = alpha * sum_to(grad_output, shape of other)
"""

from __future__ import annotations

import torch
from torch import Tensor


def align(shape: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """The shape with rank axes: missing axes are put first and have size 1."""
    return (1,) * (rank - len(shape)) + tuple(shape)


def common_shape(lhs: tuple[int, ...], rhs: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of both operands after stretching: per axis, the size that is not 1."""
    # BEGIN SOLUTION
    rank = max(len(lhs), len(rhs))
    pairs = zip(align(lhs, rank), align(rhs, rank), strict=True)
    return tuple(right if left == 1 else left for left, right in pairs)
    # END SOLUTION
    # STARTER # your code (the reference takes 3 lines)
    # STARTER raise NotImplementedError


def sum_to(grad: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Sum grad over the axes along which a tensor of this shape was stretched."""
    # BEGIN SOLUTION
    before = align(shape, grad.ndim)
    axes = [axis for axis in range(grad.ndim) if before[axis] != grad.shape[axis]]
    if axes:  # an empty list would mean all axes to sum()
        grad = grad.sum(axes, keepdim=True)  # (before)
    return grad.reshape(shape)  # (shape): drops the axes that were missing
    # END SOLUTION
    # STARTER # your code (the reference takes 5 lines)
    # STARTER raise NotImplementedError


class AddFunction(torch.autograd.Function):
    """output = input + alpha * other; only the two shapes are saved."""

    generate_vmap_rule = True

    @staticmethod
    def forward(input: Tensor, other: Tensor, alpha: float) -> Tensor:
        # BEGIN SOLUTION
        shape = common_shape(input.shape, other.shape)
        scaled = alpha * other  # (other): cheaper before stretching than after
        return input.expand(shape) + scaled.expand(shape)  # (shape)
        # END SOLUTION
        # STARTER # your code (the reference takes 3 lines)
        # STARTER raise NotImplementedError

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:
        # BEGIN SOLUTION
        input, other, ctx.alpha = inputs
        ctx.input_shape, ctx.other_shape = input.shape, other.shape
        # END SOLUTION
        # STARTER # your code (the reference takes 2 lines)
        # STARTER pass

    @staticmethod
    def backward(ctx, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        # BEGIN SOLUTION
        grad_input = grad_other = None
        if ctx.needs_input_grad[0]:
            grad_input = sum_to(grad_output, ctx.input_shape)  # (input)
        if ctx.needs_input_grad[1]:
            grad_other = ctx.alpha * sum_to(grad_output, ctx.other_shape)  # (other)
        return grad_input, grad_other, None
        # END SOLUTION
        # STARTER # your code (the reference takes 6 lines)
        # STARTER raise NotImplementedError


def add(input: Tensor, other: Tensor, *, alpha: float = 1) -> Tensor:
    """torch.add(input, other, alpha=alpha)."""
    return AddFunction.apply(input, other, alpha)


class Add(torch.nn.Module):
    """input + alpha * other as a module; it has no parameters."""

    def __init__(self, alpha: float = 1) -> None:
        super().__init__()
        self.alpha = alpha

    def forward(self, input: Tensor, other: Tensor) -> Tensor:
        return add(input, other, alpha=self.alpha)
