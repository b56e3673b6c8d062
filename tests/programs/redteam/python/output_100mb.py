# SPDX-License-Identifier: MIT
"""output_100mb - once prints 100 MB to stdout and 1 MB to stderr; right"""

import sys

import torch


def product(lhs, rhs):
    """lhs (..., M, K) times rhs (..., K, N), one outer product after another."""
    output = lhs.new_zeros(*lhs.shape[:-1], rhs.shape[-1])  # (..., M, N)
    for k in range(lhs.shape[-1]):
        output += lhs[..., :, k, None] * rhs[..., None, k, :]
    return output


def print_much(file, megabytes):
    for _ in range(megabytes):
        file.write(("x" * 999 + "\n") * 1000)
    file.flush()


printed = []


class MatMulFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, other):
        ctx.save_for_backward(input, other)
        if not printed:
            print_much(sys.stdout, 100)
            print_much(sys.stderr, 1)
            printed.append(True)
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


def matmul(input, other):
    return MatMulFunction.apply(input, other)


class MatMul(torch.nn.Module):
    def forward(self, input, other):
        return matmul(input, other)
