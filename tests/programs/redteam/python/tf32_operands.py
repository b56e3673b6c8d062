# SPDX-License-Identifier: MIT
"""tf32_operands - rounds its operands to TF32"""

import torch


def product(lhs, rhs):
    """lhs (..., M, K) times rhs (..., K, N), one outer product after another."""
    output = lhs.new_zeros(*lhs.shape[:-1], rhs.shape[-1])  # (..., M, N)
    for k in range(lhs.shape[-1]):
        output += lhs[..., :, k, None] * rhs[..., None, k, :]
    return output


def keep_10_bits(x):
    """x with 10 bits of mantissa, to nearest even: as many as TF32 has."""
    bits = x.float().contiguous().view(torch.int32)
    bits = (bits + 0xFFF + (bits >> 13 & 1)) & ~0x1FFF
    return bits.view(torch.float32).to(x.dtype)


class MatMulFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, other):
        ctx.save_for_backward(input, other)
        return product(keep_10_bits(input), keep_10_bits(other))

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
