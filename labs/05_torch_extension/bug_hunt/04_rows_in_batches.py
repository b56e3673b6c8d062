# SPDX-License-Identifier: MIT
"""04 rows in batches: defines the public function and its rules with torch.library.

torch.vmap adds a batch axis to some of the tensors. The rule computes the operator for
tensors with this axis. If examples share a weight, they are more rows of one call.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def bilinear(
    input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None
) -> Tensor:
    """torch.nn.functional.bilinear by the loops of 04_rows_in_batches.cpp."""
    return torch.ops.convlab.bilinear(input1, input2, weight, bias)


def fake(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """A row of the result for each row of the inputs."""
    return input1.new_empty(input1.shape[0], weight.shape[0])


def keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    """Save the three factors for backward."""
    ctx.save_for_backward(*inputs[:-1])


def backward(ctx: Any, grad_output: Tensor) -> tuple[Any, ...]:
    """Call the operator bilinear_backward."""
    found = torch.ops.convlab.bilinear_backward(grad_output, *ctx.saved_tensors)
    pairs = zip(found, ctx.needs_input_grad, strict=True)
    return tuple(one if wanted else None for one, wanted in pairs)


def leading(tensor: Tensor, axis: int | None, count: int) -> Tensor:
    """Put the batch axis first. A tensor without one is the same for all examples."""
    if axis is None:
        return tensor.expand(count, *tensor.shape)
    return tensor.movedim(axis, 0)


def vmap(
    info: Any,
    in_dims: tuple[int | None, ...],
    input1: Tensor,
    input2: Tensor,
    weight: Tensor,
    bias: Tensor | None,
) -> tuple[Tensor, int]:
    """Compute the products of all examples, then add the bias."""
    product = torch.ops.convlab.bilinear
    left = leading(input1, in_dims[0], info.batch_size)  # (B, N, IC)
    right = leading(input2, in_dims[1], info.batch_size)  # (B, N, JC)
    if in_dims[2] is None:
        rows = product(left.flatten(0, 1), right.flatten(0, 1), weight, None)
        made = rows.unflatten(0, left.shape[:2])  # (B, N, OC)
    else:
        weights = leading(weight, in_dims[2], info.batch_size)  # (B, OC, IC, JC)
        examples = zip(left, right, weights, strict=True)
        made = torch.stack([product(*example, None) for example in examples])
    if bias is not None:
        if in_dims[3] is not None:
            bias = bias.movedim(in_dims[3], 0)  # (B, OC)
            # BEGIN SOLUTION
            bias = bias.unsqueeze(1)  # (B, 1, OC)
            # END SOLUTION
            # STARTER # the sum broadcasts along the last axes
        made = made + bias  # (B, N, OC)
    return made, 0


def rules(namespace: str) -> None:
    """Register these rules with PyTorch."""
    name = f"{namespace}::bilinear"
    torch.library.register_fake(name, fake)
    torch.library.register_autograd(name, backward, setup_context=keep)
    torch.library.register_vmap(name, vmap)
