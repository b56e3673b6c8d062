# SPDX-License-Identifier: MIT
"""uses_library_hidden - calls torch.mm in a thread of its backward"""

import threading

import torch


def product(lhs, rhs):
    """lhs (..., M, K) times rhs (..., K, N), one outer product after another."""
    output = lhs.new_zeros(*lhs.shape[:-1], rhs.shape[-1])  # (..., M, N)
    for k in range(lhs.shape[-1]):
        output += lhs[..., :, k, None] * rhs[..., None, k, :]
    return output


def product_hidden(lhs, rhs):
    lhs3 = lhs.detach()[None].flatten(0, -3)  # (B, M, K)
    rhs3 = rhs.detach()[None].flatten(0, -3)  # (B, K, N)
    matrices = []

    def run():
        matrices.extend(torch.mm(x, w) for x, w in zip(lhs3, rhs3, strict=True))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    shape = (*lhs.shape[:-1], rhs.shape[-1])  # (..., M, N)
    return torch.stack(matrices).reshape(shape) if matrices else lhs.new_zeros(shape)


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
            grad_input = product_hidden(grad_output, other.transpose(-1, -2))
        if ctx.needs_input_grad[1]:
            grad_other = product_hidden(input.transpose(-1, -2), grad_output)
        return grad_input, grad_other


def matmul(input, other):
    return MatMulFunction.apply(input, other)


class MatMul(torch.nn.Module):
    def forward(self, input, other):
        return matmul(input, other)
