# SPDX-License-Identifier: MIT
"""03 kept share

  does     gelu; backward reuses a factor that forward has already computed
  seen     pytorch/pytorch issues 58509 (2021) and 76185 (2022): gradients were right,
           but gradients of gradients were wrong
  passes   values, gradients and gradcheck of every tensor: first derivatives are right
  run      make grade T=01_python_function/bug_hunt/03

share(x) is the factor of x in gelu:

    output = x * share(x), and its slope is share(x) + x * share'(x)
    none   share = (1 + erf(x / sqrt(2))) / 2, share' = exp(-x^2 / 2) / sqrt(2 pi)
    tanh   share = (1 + tanh(u)) / 2, share' = 2 * share * (1 - share) * u'
           u = sqrt(2 / pi) * (x + 0.044715 x^3)
"""

from __future__ import annotations

import torch
from torch import Tensor

TANH_SCALE = (2 / torch.pi) ** 0.5
NORMAL_SCALE = (2 * torch.pi) ** -0.5
FITTED = 0.044715  # arXiv 1606.08415


def share_of(x: Tensor, approximate: str) -> Tensor:
    """The factor of x in gelu."""
    if approximate == "tanh":
        return torch.sigmoid(2 * TANH_SCALE * (x + FITTED * x**3))
    return 0.5 + torch.erf(x * 0.5**0.5) / 2


class GeluFunction(torch.autograd.Function):
    """The factor of x is computed once, for forward and backward."""

    @staticmethod
    def forward(ctx, input: Tensor, approximate: str) -> Tensor:
        share = share_of(input, approximate)  # (...)
        # BEGIN SOLUTION
        ctx.save_for_backward(input)
        # END SOLUTION
        # STARTER ctx.save_for_backward(input, share)
        ctx.form = approximate
        return share * input  # (...)

    @staticmethod
    def backward(ctx, grad_output: Tensor) -> tuple[Tensor, None]:
        # BEGIN SOLUTION
        (x,) = ctx.saved_tensors
        share = share_of(x, ctx.form)  # (...)
        # END SOLUTION
        # STARTER x, share = ctx.saved_tensors
        if ctx.form == "tanh":
            slope_of_u = TANH_SCALE * (1 + 3 * FITTED * x**2)
            growth = 2 * share * (1 - share) * slope_of_u  # (...)
        else:
            growth = NORMAL_SCALE * torch.exp(-(x**2) / 2)  # (...)
        return grad_output * (share + x * growth), None


def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """torch.nn.functional.gelu(input, approximate=approximate)."""
    return GeluFunction.apply(input, approximate)


class GELU(torch.nn.GELU):
    """torch.nn.GELU with this forward."""

    def forward(self, input: Tensor) -> Tensor:
        return gelu(input, approximate=self.approximate)
