# SPDX-License-Identifier: MIT
"""00 pairs and bias

  does     bilinear by matrix products; computes only the gradients that are needed
  seen     pytorch/ao pull request 4817 (2026), in a layer for low-bit training
  passes   the tests of that layer, and every forward
  run      make grade T=01_python_function/bug_hunt/00

bilinear multiplies each pair of numbers of two rows with a weight:

    output[n, oc] = bias[oc] + sum over ic, jc of input1[n, ic] * weight[oc, ic, jc]
                                                * input2[n, jc]
"""

from __future__ import annotations

import torch
from torch import Tensor


class BilinearFunction(torch.autograd.Function):
    """All pairs of a row are one long row; with it the operator is a matrix product."""

    @staticmethod
    def forward(
        ctx, input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None
    ) -> Tensor:
        ctx.save_for_backward(input1, input2, weight)
        pairs = input1[:, :, None] * input2[:, None, :]  # (N, IC, JC)
        product = pairs.flatten(1) @ weight.flatten(1).T  # (N, OC)
        return product if bias is None else product + bias

    @staticmethod
    def backward(ctx, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        input1, input2, weight = ctx.saved_tensors
        wants = ctx.needs_input_grad
        to_input1 = to_input2 = to_weight = to_bias = None
        if wants[0] or wants[1]:
            to_pairs = grad_output @ weight.flatten(1)  # (N, IC*JC)
            to_pairs = to_pairs.reshape(-1, *weight.shape[1:])  # (N, IC, JC)
            to_input1 = (to_pairs * input2[:, None, :]).sum(2)  # (N, IC)
            to_input2 = (to_pairs * input1[:, :, None]).sum(1)  # (N, JC)
        if wants[2]:
            pairs = input1[:, :, None] * input2[:, None, :]  # (N, IC, JC)
            to_weight = grad_output.T @ pairs.flatten(1)  # (OC, IC*JC)
            to_weight = to_weight.reshape(weight.shape)
        # BEGIN SOLUTION
        if wants[3]:
            to_bias = torch.sum(grad_output, 0)  # (OC)
        # END SOLUTION
        # STARTER # a bias needs no saved tensor
        to_input1 = to_input1 if wants[0] else None
        to_input2 = to_input2 if wants[1] else None
        return to_input1, to_input2, to_weight, to_bias


def bilinear(
    input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None
) -> Tensor:
    """torch.nn.functional.bilinear of rows (N, IC) and (N, JC)."""
    return BilinearFunction.apply(input1, input2, weight, bias)
