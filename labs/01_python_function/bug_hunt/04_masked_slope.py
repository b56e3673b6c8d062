# SPDX-License-Identifier: MIT
"""04 masked slope

  does     elu, with a backward of its own
  seen     pytorch/extension-cpp, cpp/lltm.cpp at commit 37ef02f, the C++ code of
           PyTorch's tutorial (we tried it)
  passes   inputs of ordinary size
  run      make grade T=01_python_function/bug_hunt/04

elu has two branches:

    output = x above 0, and alpha * (exp(x) - 1) below
    slope  = 1 above 0, and alpha * exp(x) below
"""

from __future__ import annotations

import torch
from torch import Tensor


def elu_slope(x: Tensor, alpha: float) -> Tensor:
    """The slope of elu, element by element."""
    above, below = (x > 0).to(x.dtype), (x <= 0).to(x.dtype)
    # BEGIN SOLUTION
    growth = torch.exp(x.clamp(max=0))  # at most 1, so it never overflows
    # END SOLUTION
    # STARTER growth = torch.exp(x)
    return above + below * alpha * growth


class EluFunction(torch.autograd.Function):
    """elu, from the saved input and alpha."""

    @staticmethod
    def forward(ctx, input: Tensor, alpha: float) -> Tensor:
        ctx.save_for_backward(input)
        ctx.alpha = alpha
        below = alpha * torch.expm1(input.clamp(max=0))  # (...)
        return torch.where(input > 0, input, below)

    @staticmethod
    def backward(ctx, grad_output: Tensor) -> tuple[Tensor, None]:
        (x,) = ctx.saved_tensors
        return grad_output * elu_slope(x, ctx.alpha), None  # (...)


def elu(input: Tensor, alpha: float = 1) -> Tensor:
    """torch.nn.functional.elu(input, alpha)."""
    return EluFunction.apply(input, alpha)
