# SPDX-License-Identifier: MIT
"""00 outer products

  idea    a product is a sum of K outer products: column k of input by row k of other
  expect  the numbers of torch.matmul, with only multiply and add
  limit   for every k, the whole output is read and written again
  run     make grade T=01_python_function/matmul/00

For each matrix of the batch:

    output[m,n] = sum over k of input[m,k] * other[k,n]

If input[m,k] grows by a step, output[m,n] grows by other[k,n] times the step, for each
n. So the gradients are products too, with one operand transposed:

    grad_input = grad_output @ other^T     (M, N) by (N, K)
    grad_other = input^T @ grad_output     (K, M) by (M, N)
"""

from __future__ import annotations

import torch
from torch import Tensor


def product(lhs: Tensor, rhs: Tensor) -> Tensor:
    """(..., M, K) @ (..., K, N) is (..., M, N); it is zero if K is 0."""
    *batch, M, K = lhs.shape
    # one step:       k                n
    #             +---+---+     +-----------+
    #             |   | # |     |           |        # * # fills all of
    #           m |   | # |   k | # # # # # |        output, (..., M, N)
    #             +---+---+     +-----------+
    # BEGIN SOLUTION
    N = rhs.shape[-1]
    output = lhs.new_zeros(*batch, M, N)  # (..., M, N)
    for k in range(K):
        column = lhs[..., :, k : k + 1]  # (..., M, 1)
        row = rhs[..., k : k + 1, :]  # (..., 1, N)
        output = output + column * row  # (..., M, N)
    return output
    # END SOLUTION
    # STARTER # your code (the reference takes 7 lines)
    # STARTER raise NotImplementedError


class MatMulFunction(torch.autograd.Function):
    """output = input @ other, for operands of equal batch sizes."""

    generate_vmap_rule = True

    @staticmethod
    def forward(input: Tensor, other: Tensor) -> Tensor:
        # BEGIN SOLUTION
        return product(input, other)  # (..., M, N)
        # END SOLUTION
        # STARTER # your code (the reference takes 1 line)
        # STARTER raise NotImplementedError

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:
        # BEGIN SOLUTION
        input, other = inputs  # (..., M, K) (..., K, N)
        ctx.save_for_backward(input, other)
        # END SOLUTION
        # STARTER # your code (the reference takes 2 lines)
        # STARTER pass

    @staticmethod
    def backward(ctx, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        # BEGIN SOLUTION
        input, other = ctx.saved_tensors  # (..., M, K) (..., K, N)
        grad_input = grad_other = None
        if ctx.needs_input_grad[0]:
            grad_input = product(grad_output, other.mT)  # (..., M, K)
        if ctx.needs_input_grad[1]:
            grad_other = product(input.mT, grad_output)  # (..., K, N)
        return grad_input, grad_other
        # END SOLUTION
        # STARTER # your code (the reference takes 7 lines)
        # STARTER raise NotImplementedError


def matmul(input: Tensor, other: Tensor) -> Tensor:
    """torch.matmul(input, other) for operands of equal batch sizes."""
    return MatMulFunction.apply(input, other)


class MatMul(torch.nn.Module):
    """input @ other as a module; it has no parameters."""

    def forward(self, input: Tensor, other: Tensor) -> Tensor:
        return matmul(input, other)
