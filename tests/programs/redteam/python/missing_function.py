# SPDX-License-Identifier: MIT
"""missing_function - misspells the function's name"""

import torch


def product(lhs, rhs):
    """lhs (..., M, K) times rhs (..., K, N), one outer product after another."""
    output = lhs.new_zeros(*lhs.shape[:-1], rhs.shape[-1])  # (..., M, N)
    for k in range(lhs.shape[-1]):
        output += lhs[..., :, k, None] * rhs[..., None, k, :]
    return output


class MatMulFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, other):
        ctx.save_for_backward(input, other)
        return product(input, other)

    @staticmethod
    def backward(ctx, grad_output):
        input, other = ctx.saved_tensors
        grad_input = grad_other = None
        if ctx.needs_input_grad[0]:
            grad_input = product(grad_output, other.transpose(-1, -2))
        if ctx.needs_input_grad[1]:
            grad_other = product(input.transpose(-1, -2), grad_output)
        return grad_input, grad_other


def matmull(input, other):
    return MatMulFunction.apply(input, other)


class MatMul(torch.nn.Module):
    def forward(self, input, other):
        return matmull(input, other)
