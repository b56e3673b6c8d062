# SPDX-License-Identifier: MIT
"""00 product rule

  idea    output is a product, x times share(x): its derivative has two terms
  expect  the numbers of torch.nn.functional.gelu
  limit   each step makes a tensor; one loop would read and write each number once
  run     make grade T=01_python_function/gelu/00

Phi(x) is the probability that a normal random number is below x. phi is its density:

    output     = x * Phi(x)
    Phi(x)     = (1 + erf(x / sqrt(2))) / 2
    phi(x)     = exp(-x^2 / 2) / sqrt(2*pi)                 the slope of Phi
    grad_input = grad_output * (Phi(x) + x * phi(x))

With approximate="tanh", gelu uses tanh instead of erf. tanh was once cheaper:

    output     = x * (1 + tanh(u)) / 2
    u(x)       = sqrt(2/pi) * (x + 0.044715 * x^3)
    slope of tanh(u) = (1 - tanh(u)^2) * du/dx

(Hendrycks and Gimpel, arXiv 1606.08415)
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

SQRT_1_2 = math.sqrt(1 / 2)
SQRT_2_PI = math.sqrt(2 / math.pi)
SQRT_1_2PI = math.sqrt(1 / (2 * math.pi))
CUBIC = 0.044715  # the constant of the paper


def share(input: Tensor, approximate: str) -> Tensor:
    """The factor of x in output, between 0 and 1: Phi(x), or its tanh form."""
    # BEGIN SOLUTION
    if approximate == "none":
        return (1 + torch.erf(input * SQRT_1_2)) / 2  # (...)
    u = SQRT_2_PI * (input + CUBIC * input * input * input)  # (...)
    return (1 + torch.tanh(u)) / 2  # (...)
    # END SOLUTION
    # STARTER # your code (the reference takes 4 lines)
    # STARTER raise NotImplementedError


def share_slope(input: Tensor, approximate: str) -> Tensor:
    """The derivative of share(x): phi(x), or the derivative of the tanh form."""
    # BEGIN SOLUTION
    if approximate == "none":
        return SQRT_1_2PI * torch.exp(-input * input / 2)  # (...)
    squashed = 2 * share(input, approximate) - 1  # tanh(u)
    u_slope = SQRT_2_PI * (1 + 3 * CUBIC * input * input)  # (...)
    return (1 - squashed * squashed) / 2 * u_slope  # (...)
    # END SOLUTION
    # STARTER # your code (the reference takes 5 lines)
    # STARTER raise NotImplementedError


class GeluFunction(torch.autograd.Function):
    """output = x * share(x), element by element; input is saved, output is not."""

    generate_vmap_rule = True

    @staticmethod
    def forward(input: Tensor, approximate: str) -> Tensor:
        # BEGIN SOLUTION
        return input * share(input, approximate)  # (...)
        # END SOLUTION
        # STARTER # your code (the reference takes 1 line)
        # STARTER raise NotImplementedError

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:
        # BEGIN SOLUTION
        input, ctx.approximate = inputs
        ctx.save_for_backward(input)
        # END SOLUTION
        # STARTER # your code (the reference takes 2 lines)
        # STARTER pass

    @staticmethod
    def backward(ctx, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        # BEGIN SOLUTION
        if not ctx.needs_input_grad[0]:
            return None, None
        (input,) = ctx.saved_tensors  # (...)
        slope = share(input, ctx.approximate)  # x grows
        slope = slope + input * share_slope(input, ctx.approximate)  # its share grows
        return grad_output * slope, None  # (...)
        # END SOLUTION
        # STARTER # your code (the reference takes 6 lines)
        # STARTER raise NotImplementedError


def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """torch.nn.functional.gelu(input, approximate=approximate)."""
    return GeluFunction.apply(input, approximate)


class GELU(torch.nn.Module):
    """torch.nn.GELU: gelu as a module; it has no parameters."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return gelu(input, approximate=self.approximate)
