# SPDX-License-Identifier: MIT
"""00 two moments

  idea    mean and rstd of each row, then one multiply-add for each element
  expect  the numbers of torch.nn.functional.layer_norm
  limit   seven passes over the input; a fused kernel needs one or two
  run     make grade T=01_python_function/layer_norm/00

A row r is one position of the leading axes. All averages are over D features:

    mean[r]     = average of input[r]
    rstd[r]     = 1 / sqrt(average of (input[r] - mean[r])^2 + eps)
    xhat[r,d]   = (input[r,d] - mean[r]) * rstd[r]
    output[r,d] = xhat[r,d] * weight[d] + bias[d]

An element of the input changes its row in three ways: directly, through the mean, and
through rstd. dx = grad_output * weight is the gradient with respect to xhat:

    grad_input  = rstd * (dx - average of dx - xhat * average of dx * xhat)
                          ^directly  ^mean       ^rstd
    grad_weight[d] = sum over r of grad_output[r,d] * xhat[r,d]
    grad_bias[d]   = sum over r of grad_output[r,d]
"""

from __future__ import annotations

import torch
from torch import Tensor


def normalize(input: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """xhat (..., D) and rstd (..., 1) of the rows of input (..., D)."""
    # BEGIN SOLUTION
    mean = input.mean(-1, keepdim=True)  # (..., 1)
    centered = input - mean  # (..., D)
    variance = (centered * centered).mean(-1, keepdim=True)  # (..., 1)
    rstd = 1 / torch.sqrt(variance + eps)  # (..., 1)
    return centered * rstd, rstd
    # END SOLUTION
    # STARTER # your code (the reference takes 5 lines)
    # STARTER raise NotImplementedError


class LayerNormFunction(torch.autograd.Function):
    """output = (input - mean) * rstd * weight + bias, along the last axis.

    Only arguments are saved. So autograd can follow backward to input, also through
    xhat and rstd, which backward computes again.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(
        input: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
    ) -> Tensor:
        # BEGIN SOLUTION
        output, _ = normalize(input, eps)  # (..., D)
        if weight is not None:
            output = output * weight  # (..., D)
        if bias is not None:
            output = output + bias  # (..., D)
        return output
        # END SOLUTION
        # STARTER # your code (the reference takes 6 lines)
        # STARTER raise NotImplementedError

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:
        # BEGIN SOLUTION
        input, weight, _, ctx.eps = inputs
        ctx.save_for_backward(input, weight)
        # END SOLUTION
        # STARTER # your code (the reference takes 2 lines)
        # STARTER pass

    @staticmethod
    def backward(ctx, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        # BEGIN SOLUTION
        input, weight = ctx.saved_tensors  # (..., D) (D)
        D = input.shape[-1]
        R = input.shape[:-1].numel()  # 1 if there are no leading axes
        xhat, rstd = normalize(input, ctx.eps)  # (..., D) (..., 1)
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            dx = grad_output if weight is None else grad_output * weight  # (..., D)
            of_mean = dx.mean(-1, keepdim=True)  # (..., 1)
            of_rstd = (dx * xhat).mean(-1, keepdim=True)  # (..., 1)
            grad_input = rstd * (dx - of_mean - xhat * of_rstd)  # (..., D)
        if ctx.needs_input_grad[1]:
            grad_weight = (grad_output * xhat).reshape(R, D).sum(0)  # (D)
        if ctx.needs_input_grad[2]:
            grad_bias = grad_output.reshape(R, D).sum(0)  # (D)
        return grad_input, grad_weight, grad_bias, None
        # END SOLUTION
        # STARTER # your code (the reference takes 15 lines)
        # STARTER raise NotImplementedError


def layer_norm(
    input: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """torch.nn.functional.layer_norm(input, input.shape[-1:], weight, bias, eps)."""
    return LayerNormFunction.apply(input, weight, bias, eps)


class LayerNorm(torch.nn.Module):
    """torch.nn.LayerNorm over the last axis, of size normalized_shape.

    It has a weight (D) of ones and a bias (D) of zeros. With bias=False it has only a
    weight. With elementwise_affine=False it has neither of them.
    """

    def __init__(
        self,
        normalized_shape: int,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
    ) -> None:
        super().__init__()
        # BEGIN SOLUTION
        self.eps = eps
        self.register_parameter("weight", None)  # the module knows it, even if None
        self.register_parameter("bias", None)
        if elementwise_affine:
            self.weight = torch.nn.Parameter(torch.ones(normalized_shape))  # (D)
        if elementwise_affine and bias:
            self.bias = torch.nn.Parameter(torch.zeros(normalized_shape))  # (D)
        # END SOLUTION
        # STARTER # your code (the reference takes 7 lines)
        # STARTER raise NotImplementedError

    def forward(self, input: Tensor) -> Tensor:
        return layer_norm(input, self.weight, self.bias, self.eps)
