# SPDX-License-Identifier: MIT
"""04 masked slope

  does     lltm; the slope of elu is the sum of its two branches
  seen     pytorch/extension-cpp, cpp/lltm.cpp at commit 37ef02f, the C++ code of
           PyTorch's tutorial: backward is NaN for large inputs (we tried it)
  passes   states and inputs of ordinary size
  run      make grade T=01_python_function/bug_hunt/04

elu replaces the tanh of an LSTM, and there is no forget gate:

    preact = [h, input] @ weight^T + bias, in three blocks: i, o, g
    new_c  = c + elu(g) * sigmoid(i)      new_h = tanh(new_c) * sigmoid(o)
    elu(x) = x above 0 and exp(x) - 1 below, so its slope is 1 above and exp(x) below
"""

from __future__ import annotations

import torch
from torch import Tensor


def elu_slope(x: Tensor) -> Tensor:
    """The slope of elu, element by element."""
    # BEGIN SOLUTION
    return torch.exp(x.clamp(max=0))  # 1 from 0 on
    # END SOLUTION
    # STARTER above, below = (x > 0).to(x.dtype), (x <= 0).to(x.dtype)
    # STARTER return above + below * torch.exp(x)


def sigmoid_slope(y: Tensor) -> Tensor:
    """The slope of sigmoid, from the value y of sigmoid."""
    return y - y * y


class LLTMFunction(torch.autograd.Function):
    """Saves the arguments of the gates. Backward activates them again."""

    @staticmethod
    def forward(
        ctx, input: Tensor, weight: Tensor, bias: Tensor, h: Tensor, c: Tensor
    ) -> tuple[Tensor, Tensor]:
        both = torch.cat((h, input), -1)  # (N, H+IC)
        sums = both @ weight.T + bias  # (N, 3*H)
        i, o, g = sums.unflatten(-1, (3, -1)).unbind(1)  # (N, H) each
        new_c = c + torch.nn.functional.elu(g) * i.sigmoid()  # (N, H)
        ctx.save_for_backward(both, weight, sums, new_c)
        return new_c.tanh() * o.sigmoid(), new_c

    @staticmethod
    def backward(
        ctx, grad_new_h: Tensor, grad_new_c: Tensor
    ) -> tuple[Tensor | None, ...]:
        both, weight, sums, new_c = ctx.saved_tensors
        H = new_c.shape[-1]
        raw_i, raw_o, raw_g = sums.unflatten(-1, (3, H)).unbind(1)  # (N, H) each
        i, o, bent = raw_i.sigmoid(), raw_o.sigmoid(), new_c.tanh()
        of_state = grad_new_c + grad_new_h * o * (1 - bent.square())  # (N, H)
        of_sums = torch.stack(
            (
                of_state * torch.nn.functional.elu(raw_g) * sigmoid_slope(i),
                grad_new_h * bent * sigmoid_slope(o),
                of_state * i * elu_slope(raw_g),
            ),
            1,
        ).flatten(1)  # (N, 3*H)
        of_both = of_sums @ weight  # (N, H+IC)
        found = (
            of_both[:, H:],
            of_sums.T @ both,  # (3*H, H+IC)
            of_sums.sum(0),  # (3*H)
            of_both[:, :H],
            of_state,
        )
        wanted = zip(found, ctx.needs_input_grad, strict=True)
        return tuple(one if needed else None for one, needed in wanted)


def lltm(
    input: Tensor, weight: Tensor, bias: Tensor, h: Tensor, c: Tensor
) -> tuple[Tensor, Tensor]:
    """The next state (new_h, new_c) of the cell."""
    return LLTMFunction.apply(input, weight, bias, h, c)


class LLTM(torch.nn.Module):
    """The cell with its parameters, uniform in +-1 / sqrt(H)."""

    def __init__(self, input_features: int, state_size: int) -> None:
        super().__init__()
        edge, H = state_size**-0.5, state_size
        for name, size in ("weight", (3 * H, H + input_features)), ("bias", (3 * H,)):
            start = torch.empty(size).uniform_(-edge, edge)
            self.register_parameter(name, torch.nn.Parameter(start))

    def forward(self, input: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        return lltm(input, self.weight, self.bias, h, c)
