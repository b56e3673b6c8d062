# SPDX-License-Identifier: MIT
"""03 reused memory: defines the public function and its rules with torch.library.

The schema of gelu_backward is in the C++ file. It says that no argument is changed,
and that no result shares memory with an argument. PyTorch relies on this.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """torch.nn.functional.gelu by the loops of 03_reused_memory.cpp."""
    return torch.ops.convlab.gelu(input, approximate)


def fake(input: Tensor, approximate: str) -> Tensor:
    """A contiguous tensor with the sizes of the input."""
    return input.new_empty(input.shape)


def fake_backward(grad_output: Tensor, input: Tensor, approximate: str) -> Tensor:
    """The gradient has the same sizes."""
    return input.new_empty(input.shape)


def keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    """Save the input and the form for backward."""
    input, ctx.form = inputs
    ctx.save_for_backward(input)


def backward(ctx: Any, grad_output: Tensor) -> tuple[Any, ...]:
    """Call the operator gelu_backward."""
    (input,) = ctx.saved_tensors
    return torch.ops.convlab.gelu_backward(grad_output, input, ctx.form), None


def rules(namespace: str) -> None:
    """Register these rules with PyTorch."""
    torch.library.register_fake(f"{namespace}::gelu", fake)
    torch.library.register_fake(f"{namespace}::gelu_backward", fake_backward)
    torch.library.register_autograd(f"{namespace}::gelu", backward, setup_context=keep)
