# SPDX-License-Identifier: MIT
"""01 scaled rows

  does     rms_norm: divides each row by its root mean square
  seen     linkedin/Liger-Kernel issue 370, pull request 376 (2024): one of many models
           did not converge with this norm, which worked for all other models
  passes   a new norm; a loss that is a sum
  run      make grade T=01_python_function/bug_hunt/01

xhat is the row divided by its root mean square, and g = grad_output * weight:

    output      = xhat * weight
    grad_input  = rrms * (g - xhat * average of g * xhat)
    grad_weight = sum over the rows of grad_output * xhat
"""

from __future__ import annotations

import torch
from torch import Tensor


def over_rows(tensor: Tensor) -> Tensor:
    """The sum over all axes but the last."""
    return tensor.reshape(-1, tensor.shape[-1]).sum(0) if tensor.dim() > 1 else tensor


class RmsNormFunction(torch.autograd.Function):
    """Saves input and weight, and computes the root mean square again."""

    @staticmethod
    def forward(ctx, input: Tensor, weight: Tensor | None, eps: float) -> Tensor:
        ctx.save_for_backward(input, weight)
        ctx.eps = eps
        square = input.square().mean(-1, keepdim=True)  # (..., 1)
        xhat = input * (square + eps).sqrt().reciprocal()  # (..., D)
        return xhat if weight is None else xhat * weight

    @staticmethod
    def backward(ctx, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        input, weight = ctx.saved_tensors
        square = input.square().mean(-1, keepdim=True)  # (..., 1)
        rrms = (square + ctx.eps).sqrt().reciprocal()  # (..., 1)
        xhat = input * rrms  # (..., D)
        to_input = to_weight = None
        if ctx.needs_input_grad[0]:
            g = grad_output.contiguous()  # (..., D)
            if weight is not None:
                # BEGIN SOLUTION
                g = g * weight  # (..., D)
                # END SOLUTION
                # STARTER g *= weight  # (..., D), without a new tensor
            along = (g * xhat).mean(-1, keepdim=True)  # (..., 1)
            to_input = rrms * (g - xhat * along)
        if ctx.needs_input_grad[1]:
            to_weight = over_rows(grad_output * xhat)  # (D)
        return to_input, to_weight, None


def rms_norm(input: Tensor, weight: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """torch.nn.functional.rms_norm(input, input.shape[-1:], weight, eps)."""
    return RmsNormFunction.apply(input, weight, eps)
