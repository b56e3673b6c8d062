# SPDX-License-Identifier: MIT
"""00 matmul

  idea    join all leading axes into one axis of rows; then one product is enough
  expect  the numbers of torch.nn.functional.linear
  limit   the bias needs a second pass over the output; addmm would save this pass
  run     make grade T=01_python_function/linear/00

A row r is one position of the leading axes. There are R rows:

    output[r,oc] = bias[oc] + sum over ic of input[r,ic] * weight[oc,ic]
    output       = input @ weight^T + bias                  (R, OC)

All rows use the same weight and bias, so their gradients are sums over the rows. For
grad_weight, the matrix product computes this sum:

    grad_input  = grad_output @ weight                      (R, IC)
    grad_weight = grad_output^T @ input                     (OC, IC)
    grad_bias   = sum over r of grad_output[r]              (OC)
"""

from __future__ import annotations

import torch
from torch import Tensor


class LinearFunction(torch.autograd.Function):
    """output = input @ weight^T + bias over the last axis of input."""

    generate_vmap_rule = True

    @staticmethod
    def forward(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        OC, IC = weight.shape
        # BEGIN SOLUTION
        R = input.shape[:-1].numel()  # 1 if there are no leading axes
        rows = input.reshape(R, IC)  # (R, IC)
        output = rows @ weight.mT  # (R, OC)
        if bias is not None:
            output = output + bias  # (R, OC)
        return output.reshape(*input.shape[:-1], OC)  # (..., OC)
        # END SOLUTION
        # STARTER # your code (the reference takes 6 lines)
        # STARTER raise NotImplementedError

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:
        # BEGIN SOLUTION
        input, weight, _ = inputs
        ctx.save_for_backward(input, weight)
        # END SOLUTION
        # STARTER # your code (the reference takes 2 lines)
        # STARTER pass

    @staticmethod
    def backward(ctx, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        # BEGIN SOLUTION
        input, weight = ctx.saved_tensors  # (..., IC) (OC, IC)
        OC, IC = weight.shape
        R = input.shape[:-1].numel()
        grad_rows = grad_output.reshape(R, OC)  # (R, OC)
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = (grad_rows @ weight).reshape(input.shape)  # (..., IC)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_rows.mT @ input.reshape(R, IC)  # (OC, IC)
        if ctx.needs_input_grad[2]:
            grad_bias = grad_rows.sum(0)  # (OC)
        return grad_input, grad_weight, grad_bias
        # END SOLUTION
        # STARTER # your code (the reference takes 12 lines)
        # STARTER raise NotImplementedError


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """torch.nn.functional.linear(input, weight, bias)."""
    return LinearFunction.apply(input, weight, bias)


class Linear(torch.nn.Module):
    """torch.nn.Linear: a weight (OC, IC) and, unless bias is False, a bias (OC).

    Both start uniform in (-bound, bound), bound = 1 / sqrt(IC). Draw the weight first:
    then the same seed gives the same weights as torch.nn, up to rounding.
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__()
        # BEGIN SOLUTION
        bound = in_features**-0.5
        weight = torch.empty(out_features, in_features)  # (OC, IC)
        self.weight = torch.nn.Parameter(weight.uniform_(-bound, bound))
        self.register_parameter("bias", None)  # the module knows it, even if None
        if bias:
            values = torch.empty(out_features).uniform_(-bound, bound)  # (OC)
            self.bias = torch.nn.Parameter(values)
        # END SOLUTION
        # STARTER # your code (the reference takes 7 lines)
        # STARTER raise NotImplementedError

    def forward(self, input: Tensor) -> Tensor:
        return linear(input, self.weight, self.bias)
