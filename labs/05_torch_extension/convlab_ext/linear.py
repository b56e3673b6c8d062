# SPDX-License-Identifier: MIT
"""linear: the public function, and the rules of the operators linear, linear_backward.

The derivatives are those of any product (_bilinear.py). What is linear's own: sizes,
and that a batch axis is one leading axis more, unless examples have their own weights.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from convlab_ext._bilinear import Bilinear, BilinearBackward
from convlab_ext._refusals import must_be_tensor
from convlab_ext._rules import convlab, in_front, register, same_kind, sizes


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """torch.nn.functional.linear by convlab's kernels; a weight (IC) is one output."""
    must_be_tensor("linear", "weight", weight)
    if weight.dim() == 1:
        return linear(input, weight[None], bias)[..., 0]
    return convlab.linear(input, weight, bias)


class Linear(Bilinear):
    """linear(input, weight, bias) -> output."""

    name = "linear"

    def fake(self, input, weight, bias):
        """(..., OC), leading axes as they are; what does not fit is refused."""
        # BEGIN SOLUTION
        *leading, features = sizes("input", input, "(..., IC)")
        OC, IC = sizes("weight", weight, "(OC, IC)")
        torch._check(features == IC, lambda: f"'weight' expects {IC}, got {features}")
        fits = bias is None or bias.shape == weight.shape[:1]
        torch._check(fits, lambda: f"'bias' must be ({OC}), got {bias.shape}")
        same_kind(input, weight, bias)
        return input.new_empty(*leading, OC)
        # END SOLUTION
        # STARTER # your code (the reference takes 7 lines)
        # STARTER raise NotImplementedError

    def vmap(self, info, in_dims, input, weight, bias):
        """A batch axis B leads; weights of their own make a batch of products."""
        # BEGIN SOLUTION
        B = info.batch_size
        if in_dims[1] is None:
            output = self.operator(in_front(input, in_dims[0], B), weight, None)
        else:
            rows, leading = as_rows(input, in_dims[0], B)  # (B, R, IC)
            weights = in_front(weight, in_dims[1], B)  # (B, OC, IC)
            output = self.ops.matmul(rows, weights.mT)  # (B, R, OC)
            output = output.reshape(B, *leading, output.shape[-1])
        if bias is not None:
            biases = in_front(bias, in_dims[2], B)  # (B, OC)
            ones = [1] * (output.dim() - 2)
            output = output + biases.reshape(B, *ones, biases.shape[-1])
        return output, 0
        # END SOLUTION
        # STARTER # your code (the reference takes 13 lines)
        # STARTER raise NotImplementedError


class LinearBackward(BilinearBackward):
    """linear_backward(grad_output, input, weight, output_mask)."""

    def vmap(self, info, in_dims, grad_output, input, weight, mask):
        """The three formulas, for a batch of matrices."""
        # BEGIN SOLUTION
        B = info.batch_size
        grad_rows, leading = as_rows(grad_output, in_dims[0], B)  # (B, R, OC)
        found = [grad_output.new_empty(0) for _ in mask]
        if mask[0]:
            weights = in_front(weight, in_dims[2], B)  # (B, OC, IC)
            grad_input = self.ops.matmul(grad_rows, weights)  # (B, R, IC)
            found[0] = grad_input.reshape(B, *leading, weights.shape[-1])
        if mask[1]:
            rows, _ = as_rows(input, in_dims[1], B)  # (B, R, IC)
            found[1] = self.ops.matmul(grad_rows.mT, rows)  # (B, OC, IC)
        if mask[2]:
            found[2] = grad_rows.sum(1)  # (B, OC)
        return tuple(found), tuple(0 if want else None for want in mask)
        # END SOLUTION
        # STARTER # your code (the reference takes 13 lines)
        # STARTER raise NotImplementedError


def as_rows(tensor: Tensor, batched: int | None, B: int) -> tuple[Tensor, list[int]]:
    """One matrix for each of B examples, and the sizes its rows are made of."""
    tensor = in_front(tensor, batched, B)  # (B, ..., IC)
    leading = list(tensor.shape[1:-1])
    return tensor.reshape(B, math.prod(leading), tensor.shape[-1]), leading


def rules(namespace: str) -> None:
    """Register both operators' rules."""
    forward = Linear(namespace)
    register(forward)
    register(LinearBackward(forward))
