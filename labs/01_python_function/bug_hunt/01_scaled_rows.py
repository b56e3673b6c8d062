# SPDX-License-Identifier: MIT
"""01 scaled rows

  does     layer_norm; its backward creates as few tensors as possible
  seen     linkedin/Liger-Kernel issue 370, pull request 376 (2024): one of many models
           did not converge with a norm that worked for all other models
  passes   a new norm; a loss that is a sum
  run      make grade T=01_python_function/bug_hunt/01

xhat is the normalised row, and g = grad_output * weight:

    grad_input  = rstd * (g - average of g - xhat * average of g * xhat)
    grad_weight = sum over the rows of grad_output * xhat
    grad_bias   = sum over the rows of grad_output
"""

from __future__ import annotations

import torch
from torch import Tensor


def over_rows(tensor: Tensor) -> Tensor:
    """The sum over all axes but the last."""
    return tensor.reshape(-1, tensor.shape[-1]).sum(0) if tensor.dim() > 1 else tensor


class LayerNormFunction(torch.autograd.Function):
    """Saves xhat and rstd, so backward needs neither input nor mean."""

    @staticmethod
    def forward(
        ctx, input: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
    ) -> Tensor:
        apart = input - input.mean(-1, keepdim=True)  # (..., D)
        rstd = (apart.square().mean(-1, keepdim=True) + eps).sqrt().reciprocal()
        xhat = apart * rstd  # (..., D)
        ctx.save_for_backward(xhat, rstd, weight)
        output = xhat if weight is None else xhat * weight
        return output + (0 if bias is None else bias)

    @staticmethod
    def backward(ctx, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        xhat, rstd, weight = ctx.saved_tensors
        to_input = to_weight = to_bias = None
        wants = ctx.needs_input_grad
        if wants[0]:
            g = grad_output.contiguous()  # (..., D)
            if weight is not None:
                # BEGIN SOLUTION
                g = g * weight  # (..., D)
                # END SOLUTION
                # STARTER g *= weight  # (..., D), without a new tensor
            along = (g * xhat).mean(-1, keepdim=True)  # (..., 1)
            to_input = (g - g.mean(-1, keepdim=True) - xhat * along) * rstd
        if wants[1]:
            to_weight = over_rows(grad_output * xhat)  # (D)
        if wants[2]:
            to_bias = over_rows(grad_output)  # (D)
        return to_input, to_weight, to_bias, None


def layer_norm(
    input: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """torch.nn.functional.layer_norm(input, input.shape[-1:], weight, bias, eps)."""
    return LayerNormFunction.apply(input, weight, bias, eps)


class LayerNorm(torch.nn.LayerNorm):
    """torch.nn.LayerNorm with our forward; its parameters start as in PyTorch."""

    def forward(self, input: Tensor) -> Tensor:
        return layer_norm(input, self.weight, self.bias, self.eps)
