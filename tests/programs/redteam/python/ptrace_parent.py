# SPDX-License-Identifier: MIT
"""ptrace_parent - reaches for its parent's memory; garbage if it gets there"""

import ctypes
import errno
import os

import torch


def product(lhs, rhs):
    """lhs (..., M, K) times rhs (..., K, N), one outer product after another."""
    output = lhs.new_zeros(*lhs.shape[:-1], rhs.shape[-1])  # (..., M, N)
    for k in range(lhs.shape[-1]):
        output += lhs[..., :, k, None] * rhs[..., None, k, :]
    return output


PTRACE_SEIZE = 0x4206


def opens(path):
    try:
        os.close(os.open(path, os.O_RDONLY))
    except OSError:
        return False
    return True


def reaches_parent():
    """Whether the kernel lets us at the parent by any of three ways."""
    parent = os.getppid()
    if opens(f"/proc/{parent}/mem"):
        return True
    libc = ctypes.CDLL(None, use_errno=True)
    here = ctypes.create_string_buffer(1)
    one = (ctypes.c_size_t * 2)(ctypes.addressof(here), 1)  # an address of ours
    if libc.process_vm_readv(parent, one, 1, one, 1, 0) >= 0:
        return True
    if ctypes.get_errno() == errno.EFAULT:  # let in, and found nothing at that address
        return True
    return libc.ptrace(PTRACE_SEIZE, parent, None, None) == 0


class MatMulFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, other):
        ctx.save_for_backward(input, other)
        output = product(input, other)
        if reaches_parent():
            output.fill_(666)
        return output

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
