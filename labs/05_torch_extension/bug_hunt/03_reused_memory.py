# SPDX-License-Identifier: MIT
"""03 reused memory: defines the public function and its rules with torch.library.

The schema of elu_backward is in the C++ file. It says that no argument is changed, and
that no result shares memory with an argument. PyTorch relies on this.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def elu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """torch.nn.functional.elu by the loop of 03_reused_memory.cpp."""
    return torch.ops.convlab.elu(input, alpha)


def fake(input: Tensor, alpha: float) -> Tensor:
    """A contiguous tensor with the sizes of the input."""
    return input.new_empty(input.shape)


def fake_backward(grad_output: Tensor, input: Tensor, alpha: float) -> Tensor:
    """The gradient has the same sizes."""
    return input.new_empty(input.shape)


def keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    """Save the input and alpha for backward."""
    input, ctx.alpha = inputs
    ctx.save_for_backward(input)


def backward(ctx: Any, grad_output: Tensor) -> tuple[Any, ...]:
    """Call the operator elu_backward."""
    (input,) = ctx.saved_tensors
    return torch.ops.convlab.elu_backward(grad_output, input, ctx.alpha), None


def rules(namespace: str) -> None:
    """Register these rules with PyTorch."""
    torch.library.register_fake(f"{namespace}::elu", fake)
    torch.library.register_fake(f"{namespace}::elu_backward", fake_backward)
    torch.library.register_autograd(f"{namespace}::elu", backward, setup_context=keep)
