# SPDX-License-Identifier: MIT
"""03 kept share

  does     silu, the product of a number and its sigmoid
  seen     pytorch/pytorch issues 58509 (2021) and 76185 (2022), in Functions that
           users wrote
  passes   values, gradients and gradcheck, for every tensor
  run      make grade T=01_python_function/bug_hunt/03

share(x) is the factor of x in silu:

    output = x * share(x), share(x) = 1 / (1 + exp(-x))
    slope  = share(x) + x * share(x) * (1 - share(x))
"""

from __future__ import annotations

import torch
from torch import Tensor


class SiluFunction(torch.autograd.Function):
    """silu, with a backward of its own."""

    @staticmethod
    def forward(ctx, input: Tensor) -> Tensor:
        share = torch.sigmoid(input)  # (...)
        # BEGIN SOLUTION
        ctx.save_for_backward(input)
        # END SOLUTION
        # STARTER ctx.save_for_backward(input, share)
        return share * input  # (...)

    @staticmethod
    def backward(ctx, grad_output: Tensor) -> Tensor:
        # BEGIN SOLUTION
        (x,) = ctx.saved_tensors
        share = torch.sigmoid(x)  # (...)
        # END SOLUTION
        # STARTER x, share = ctx.saved_tensors
        return grad_output * share * (1 + x * (1 - share))  # (...)


def silu(input: Tensor) -> Tensor:
    """torch.nn.functional.silu(input)."""
    return SiluFunction.apply(input)
