# SPDX-License-Identifier: MIT
"""02 dealt channels

  does     channel_shuffle: deals the channels of each group to new groups
  seen     pytorch/pytorch issue 51430 (2021), fixed by pull request 81839, in a
           function of torch.nn.grad
  passes   the layers of most networks, and forward for all layers
  run      make grade T=01_python_function/bug_hunt/02

The C channels are G groups of C/G neighbours. The new order takes the first channel of
each group, then the second channel of each group, and so on:

    output[n, c * G + g] = input[n, g * C/G + c]
"""

from __future__ import annotations

import torch
from torch import Tensor


def dealt(tensor: Tensor, groups: int) -> Tensor:
    """The channels (N, C, L) of `groups` groups in their new order."""
    parts = tensor.unflatten(1, (groups, -1))  # (N, G, C/G, L)
    return parts.transpose(1, 2).flatten(1, 2)  # (N, C, L)


class ChannelShuffleFunction(torch.autograd.Function):
    """No number changes, so backward needs no saved tensor."""

    @staticmethod
    def forward(ctx, input: Tensor, groups: int) -> Tensor:
        ctx.groups = groups
        return dealt(input, groups).contiguous()  # (N, C, L)

    @staticmethod
    def backward(ctx, grad_output: Tensor) -> tuple[Tensor, None]:
        # BEGIN SOLUTION
        parts = grad_output.shape[1] // ctx.groups
        # END SOLUTION
        # STARTER parts = ctx.groups
        return dealt(grad_output, parts).contiguous(), None  # (N, C, L)


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """torch.nn.functional.channel_shuffle of rows (N, C, L)."""
    return ChannelShuffleFunction.apply(input, groups)
