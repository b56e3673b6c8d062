# SPDX-License-Identifier: MIT
"""00 rows and bias

  does     linear by one matrix product; computes only the gradients that are needed
  seen     pytorch/ao pull request 4817 (2026): in a layer for low-bit training, one
           parameter never changed, and there was no error
  passes   layers without a bias, and every forward
  run      make grade T=01_python_function/bug_hunt/00

linear joins all leading axes of input into one axis of rows:

    output = input @ weight^T + bias, for every row r of the leading axes
    grad_input = grad_output @ weight     grad_weight = grad_output^T @ input
"""

from __future__ import annotations

import torch
from torch import Tensor


def as_matrix(tensor: Tensor) -> Tensor:
    """A view or copy with all leading axes joined; a vector becomes a single row."""
    return tensor.reshape(tensor.shape[:-1].numel(), tensor.shape[-1])


class LinearFunction(torch.autograd.Function):
    """Each output is the dot product of a row of input and a row of weight."""

    @staticmethod
    def forward(ctx, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(weight, input)
        product = as_matrix(input) @ weight.T  # (R, OC)
        if bias is not None:
            product = product + bias  # (R, OC)
        return product.reshape(*input.shape[:-1], weight.shape[0])  # (..., OC)

    @staticmethod
    def backward(ctx, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        weight, input = ctx.saved_tensors
        wants = ctx.needs_input_grad
        grads = as_matrix(grad_output)  # (R, OC)
        to_input, to_weight, to_bias = None, None, None
        if wants[0]:
            to_input = torch.mm(grads, weight).reshape(input.shape)  # (..., IC)
        if wants[1]:
            to_weight = torch.mm(grads.T, as_matrix(input))  # (OC, IC)
        # BEGIN SOLUTION
        if wants[2]:
            to_bias = torch.sum(grads, 0)  # (OC)
        # END SOLUTION
        # STARTER # a bias needs no saved tensor
        return to_input, to_weight, to_bias


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """torch.nn.functional.linear(input, weight, bias)."""
    return LinearFunction.apply(input, weight, bias)


class Linear(torch.nn.Linear):
    """torch.nn.Linear with our forward; its parameters start as in PyTorch."""

    def forward(self, input: Tensor) -> Tensor:
        return linear(input, self.weight, self.bias)
