# SPDX-License-Identifier: MIT
"""02 traced sizes: defines the public function and its rules with torch.library.

A fake kernel computes the sizes of the results, for tensors without data. PyTorch calls
a fake kernel when it traces a program, but never in eager mode.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """torch.nn.functional.prelu by the loops of 02_traced_sizes.cpp."""
    return torch.ops.convlab.prelu(input, weight)


def fake(input: Tensor, weight: Tensor) -> Tensor:
    """A contiguous tensor with the sizes of the input."""
    return input.new_empty(input.shape)


def fake_backward(
    grad_output: Tensor, input: Tensor, weight: Tensor
) -> tuple[Tensor, Tensor]:
    """A gradient for the input, and one for the slopes."""
    # BEGIN SOLUTION
    slopes = weight.new_empty(weight.shape)
    # END SOLUTION
    # STARTER slopes = weight.new_empty(1)
    return input.new_empty(input.shape), slopes


def keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    """Save the input and the slopes for backward."""
    ctx.save_for_backward(*inputs)


def backward(ctx: Any, grad_output: Tensor) -> tuple[Any, ...]:
    """Call the operator prelu_backward."""
    found = torch.ops.convlab.prelu_backward(grad_output, *ctx.saved_tensors)
    pairs = zip(found, ctx.needs_input_grad, strict=True)
    return tuple(one if wanted else None for one, wanted in pairs)


def rules(namespace: str) -> None:
    """Register these rules with PyTorch."""
    torch.library.register_fake(f"{namespace}::prelu", fake)
    torch.library.register_fake(f"{namespace}::prelu_backward", fake_backward)
    torch.library.register_autograd(f"{namespace}::prelu", backward, setup_context=keep)
