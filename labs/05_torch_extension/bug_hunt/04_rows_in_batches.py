# SPDX-License-Identifier: MIT
"""04 rows in batches: defines the public function and its rules with torch.library.

torch.vmap adds a batch axis to some of the tensors. The rule computes the operator for
tensors with this axis. If examples share a weight, they are more rows of a product.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """torch.nn.functional.linear by the kernel of 04_rows_in_batches.cpp."""
    return torch.ops.convlab.linear(input, weight, bias)


def fake(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """The last axis of the result is the filters."""
    return input.new_empty(*input.shape[:-1], weight.shape[0])


def keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    """Save both factors for backward."""
    ctx.save_for_backward(*inputs[:-1])


def backward(ctx: Any, grad_output: Tensor) -> tuple[Any, ...]:
    """Call the operator linear_backward."""
    mask = list(ctx.needs_input_grad)
    found = torch.ops.convlab.linear_backward(grad_output, *ctx.saved_tensors, mask)
    return tuple(one if wanted else None for one, wanted in zip(found, mask))


def leading(tensor: Tensor, axis: int | None, count: int) -> Tensor:
    """Put the batch axis first. A tensor without one is the same for all examples."""
    if axis is None:
        return tensor.expand(count, *tensor.shape)
    return tensor.movedim(axis, 0)


def vmap(
    info: Any,
    in_dims: tuple[int | None, ...],
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
) -> tuple[Tensor, int]:
    """Compute the products of all examples, then add the bias."""
    product = torch.ops.convlab.linear
    rows = leading(input, in_dims[0], info.batch_size)  # (B, ..., IC)
    if in_dims[1] is None:
        made = product(rows, weight, None)  # (B, ..., OC)
    else:
        filters = leading(weight, in_dims[1], info.batch_size)  # (B, OC, IC)
        pairs = zip(rows.unbind(0), filters.unbind(0), strict=True)
        made = torch.stack([product(one, its, None) for one, its in pairs])
    if bias is not None:
        if in_dims[2] is not None:
            bias = bias.movedim(in_dims[2], 0)  # (B, OC)
            # BEGIN SOLUTION
            inner = [1] * (made.dim() - 2)
            bias = bias.reshape(info.batch_size, *inner, -1)  # (B, 1, ..., OC)
            # END SOLUTION
            # STARTER # the sum broadcasts along the last axes
        made = made + bias  # (B, ..., OC)
    return made, 0


def rules(namespace: str) -> None:
    """Register these rules with PyTorch."""
    name = f"{namespace}::linear"
    torch.library.register_fake(name, fake)
    torch.library.register_autograd(name, backward, setup_context=keep)
    torch.library.register_vmap(name, vmap)
