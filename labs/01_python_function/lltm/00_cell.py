# SPDX-License-Identifier: MIT
"""00 cell

  idea    one matrix product for all three gates; backward takes the lines in reverse
  expect  the numbers that autograd derives from the same lines
  limit   each step makes a new tensor; a fused loop keeps the numbers in registers
  run     make grade T=01_python_function/lltm/00

lltm is the long-long-term-memory cell of PyTorch's C++ extension tutorial. This cell
has no forget gate, and uses elu instead of tanh for the candidate.

    preact  = [h, input] @ weight^T + bias       (N, 3*H): three blocks i, o, g
    i, o, g = sigmoid(preact_i), sigmoid(preact_o), elu(preact_g)
    new_c   = c + g * i
    new_h   = tanh(new_c) * o

Each line of backward is the chain rule for one line of forward. new_c is a result, and
new_h uses it too, so add both gradients. If y is the function's value:

    sigmoid'(x) = y * (1 - y)     tanh'(x) = 1 - y^2     elu'(x) = 1 or y + 1
"""

from __future__ import annotations

import torch
from torch import Tensor


def slope_of_elu(g: Tensor) -> Tensor:
    """elu'(x) from g = elu(x): 1 where x > 0, else exp(x), which is g + 1."""
    # BEGIN SOLUTION
    return torch.where(g > 0, 1.0, g + 1)  # (N, H)
    # END SOLUTION
    # STARTER # your code (the reference takes 1 line)
    # STARTER raise NotImplementedError


def gates(joined: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, ...]:
    """i, o and g, each (N, H), of joined = [h, input], (N, H+IC)."""
    # BEGIN SOLUTION
    preact = joined @ weight.mT + bias  # (N, 3*H)
    preact_i, preact_o, preact_g = preact.chunk(3, dim=1)  # (N, H) each
    i, o = torch.sigmoid(preact_i), torch.sigmoid(preact_o)
    g = torch.nn.functional.elu(preact_g)  # (N, H)
    return i, o, g
    # END SOLUTION
    # STARTER # your code (the reference takes 5 lines)
    # STARTER raise NotImplementedError


class LLTMFunction(torch.autograd.Function):
    """new_h, new_c = lltm(input, weight, bias, h, c).

    Only arguments are saved. So autograd can follow backward to them, also through the
    gates, which backward computes again.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(
        input: Tensor, weight: Tensor, bias: Tensor, h: Tensor, c: Tensor
    ) -> tuple[Tensor, Tensor]:
        # BEGIN SOLUTION
        joined = torch.cat([h, input], dim=1)  # (N, H+IC)
        i, o, g = gates(joined, weight, bias)  # (N, H) each
        new_c = c + g * i  # (N, H)
        new_h = torch.tanh(new_c) * o  # (N, H)
        return new_h, new_c
        # END SOLUTION
        # STARTER # your code (the reference takes 5 lines)
        # STARTER raise NotImplementedError

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:
        # BEGIN SOLUTION
        ctx.save_for_backward(*inputs)
        # END SOLUTION
        # STARTER # your code (the reference takes 1 line)
        # STARTER pass

    @staticmethod
    def backward(
        ctx, grad_new_h: Tensor, grad_new_c: Tensor
    ) -> tuple[Tensor | None, ...]:
        # BEGIN SOLUTION
        input, weight, bias, h, c = ctx.saved_tensors
        H = h.shape[1]
        joined = torch.cat([h, input], dim=1)  # (N, H+IC)
        i, o, g = gates(joined, weight, bias)  # (N, H) each
        squashed = torch.tanh(c + g * i)  # (N, H)
        grad_c = grad_new_c + grad_new_h * o * (1 - squashed * squashed)  # (N, H)
        grad_preact = torch.cat(
            [
                grad_c * g * i * (1 - i),
                grad_new_h * squashed * o * (1 - o),
                grad_c * i * slope_of_elu(g),
            ],
            dim=1,
        )  # (N, 3*H)
        wants_input, wants_weight, wants_bias, wants_h, wants_c = ctx.needs_input_grad
        grad_input = grad_weight = grad_bias = grad_h = None
        if wants_input:
            grad_input = grad_preact @ weight[:, H:]  # (N, IC)
        if wants_weight:
            grad_weight = grad_preact.mT @ joined  # (3*H, H+IC)
        if wants_bias:
            grad_bias = grad_preact.sum(0)  # (3*H)
        if wants_h:
            grad_h = grad_preact @ weight[:, :H]  # (N, H)
        return grad_input, grad_weight, grad_bias, grad_h, grad_c if wants_c else None
        # END SOLUTION
        # STARTER # your code (the reference takes 25 lines)
        # STARTER raise NotImplementedError


def lltm(
    input: Tensor, weight: Tensor, bias: Tensor, h: Tensor, c: Tensor
) -> tuple[Tensor, Tensor]:
    """One step of the cell: computes the new state (new_h, new_c) from (h, c)."""
    return LLTMFunction.apply(input, weight, bias, h, c)


class LLTM(torch.nn.Module):
    """The tutorial's module: a weight (3*H, H+IC) and a bias (3*H), H = state_size.

    Both start uniform in (-bound, bound), bound = 1 / sqrt(H).
    """

    def __init__(self, input_features: int, state_size: int) -> None:
        super().__init__()
        # BEGIN SOLUTION
        bound = state_size**-0.5
        weight = torch.empty(3 * state_size, state_size + input_features)  # (3*H, ...)
        self.weight = torch.nn.Parameter(weight.uniform_(-bound, bound))
        values = torch.empty(3 * state_size).uniform_(-bound, bound)  # (3*H)
        self.bias = torch.nn.Parameter(values)
        # END SOLUTION
        # STARTER # your code (the reference takes 5 lines)
        # STARTER raise NotImplementedError

    def forward(self, input: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        return lltm(input, self.weight, self.bias, h, c)
