# SPDX-License-Identifier: MIT
"""06 scale and shift

  does     group_norm; all images of a batch share the scale and the shift of a channel
  seen     in a public extension tutorial for im2col (PyTorch, C++ and CUDA): autograd
           computes other gradients than its convolution (we compared them)
  passes   one image at a time, and forward for all batches
  run      make grade T=01_python_function/bug_hunt/06

xhat is the input minus the mean of its group, divided by the group's deviation, and
g = grad_output * weight:

    output      = xhat * weight + bias
    grad_input  = rstd * (g - average of g - xhat * average of g * xhat)
    grad_weight = sum over n, l of grad_output * xhat
    grad_bias   = sum over n, l of grad_output
"""

from __future__ import annotations

import torch
from torch import Tensor


def normed(input: Tensor, groups: int, eps: float) -> tuple[Tensor, Tensor]:
    """xhat (N, G, C/G*L) and rstd (N, G, 1), group by group."""
    x = input.reshape(input.shape[0], groups, -1)  # (N, G, C/G*L)
    apart = x - x.mean(-1, keepdim=True)
    rstd = (apart.square().mean(-1, keepdim=True) + eps).sqrt().reciprocal()
    return apart * rstd, rstd


class GroupNormFunction(torch.autograd.Function):
    """Saves input and weight, and normalises again in backward."""

    @staticmethod
    def forward(
        ctx,
        input: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        groups: int,
        eps: float,
    ) -> Tensor:
        ctx.save_for_backward(input, weight)
        ctx.groups, ctx.eps = groups, eps
        output = normed(input, groups, eps)[0].reshape(input.shape)  # (N, C, L)
        if weight is not None:
            output = output * weight[:, None]
        return output if bias is None else output + bias[:, None]

    @staticmethod
    def backward(ctx, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        input, weight = ctx.saved_tensors
        xhat, rstd = normed(input, ctx.groups, ctx.eps)
        wants = ctx.needs_input_grad
        to_input = to_weight = to_bias = None
        if wants[0]:
            g = grad_output if weight is None else grad_output * weight[:, None]
            g = g.reshape(xhat.shape)  # (N, G, C/G*L)
            along = (g * xhat).mean(-1, keepdim=True)  # (N, G, 1)
            to_groups = rstd * (g - g.mean(-1, keepdim=True) - xhat * along)
            to_input = to_groups.reshape(input.shape)  # (N, C, L)
        if wants[1]:
            to_weight = (grad_output * xhat.reshape(input.shape)).sum((0, 2))  # (C)
        if wants[2]:
            # BEGIN SOLUTION
            to_bias = grad_output.sum((0, 2))  # (C)
            # END SOLUTION
            # STARTER shifts = grad_output.sum(2)  # (N, C), one shift for each image
            # STARTER to_bias = shifts.mean(0)  # (C)
        return to_input, to_weight, to_bias, None, None


def group_norm(
    input: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    num_groups: int = 1,
    eps: float = 1e-5,
) -> Tensor:
    """torch.nn.functional.group_norm(input, num_groups, weight, bias, eps)."""
    return GroupNormFunction.apply(input, weight, bias, num_groups, eps)
