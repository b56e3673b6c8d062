# SPDX-License-Identifier: MIT
"""all products at once, then a sum"""

import torch


class MatMulFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, other):
        ctx.save_for_backward(input, other)
        left = input.unsqueeze(-1)  # (..., M, K, 1)
        right = other.unsqueeze(-3)  # (..., 1, K, N)
        return (left * right).sum(-2)

    @staticmethod
    def backward(ctx, grad_output):
        input, other = ctx.saved_tensors
        grad = grad_output.unsqueeze(-2)  # (..., M, 1, N)
        grad_input = grad_other = None
        if ctx.needs_input_grad[0]:
            grad_input = (grad * other.unsqueeze(-3)).sum(-1)
        if ctx.needs_input_grad[1]:
            grad_other = (grad * input.unsqueeze(-1)).sum(-3)
        return grad_input, grad_other


def matmul(input, other):
    return MatMulFunction.apply(input, other)


class MatMul(torch.nn.Module):
    def forward(self, input, other):
        return matmul(input, other)
