# SPDX-License-Identifier: MIT
"""frame - what every program here begins with: a right matmul. Its text is put where a
program imports it, see tests/proofs/frames.py: forward, backward and matmul are then
those that the program defines again."""

import torch


def product(lhs, rhs):
    """lhs (..., M, K) times rhs (..., K, N), one outer product after another."""
    output = lhs.new_zeros(*lhs.shape[:-1], rhs.shape[-1])  # (..., M, N)
    for k in range(lhs.shape[-1]):
        output += lhs[..., :, k, None] * rhs[..., None, k, :]
    return output


def gradients(ctx, grad_output, product=product):
    """Those of input and other that are wanted, None for the rest."""
    input, other = ctx.saved_tensors
    grad_input = grad_other = None
    if ctx.needs_input_grad[0]:
        grad_input = product(grad_output, other.transpose(-1, -2))
    if ctx.needs_input_grad[1]:
        grad_other = product(input.transpose(-1, -2), grad_output)
    return grad_input, grad_other


def forward(input, other):
    return product(input, other)


def backward(ctx, grad_output):
    return gradients(ctx, grad_output)


class MatMulFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, other):
        ctx.save_for_backward(input, other)
        return forward(input, other)

    @staticmethod
    def backward(ctx, grad_output):
        return backward(ctx, grad_output)


def matmul(input, other):
    return MatMulFunction.apply(input, other)


class MatMul(torch.nn.Module):
    def forward(self, input, other):
        return matmul(input, other)


def reach(tensor):
    """Bytes from the first element to just after the last one."""
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    last = sum((size - 1) * stride for size, stride in steps)
    return (last + 1) * tensor.element_size()
