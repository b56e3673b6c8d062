# SPDX-License-Identifier: MIT
"""uses_library_hidden - calls torch.mm in a thread of its backward"""

import threading

import torch
from frame import *


def multiply(x, w):
    return torch.mm(x, w)


def product_hidden(lhs, rhs):
    lhs3 = lhs.detach()[None].flatten(0, -3)  # (B, M, K)
    rhs3 = rhs.detach()[None].flatten(0, -3)  # (B, K, N)
    matrices = []

    def run():
        matrices.extend(multiply(x, w) for x, w in zip(lhs3, rhs3, strict=True))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    shape = (*lhs.shape[:-1], rhs.shape[-1])  # (..., M, N)
    return torch.stack(matrices).reshape(shape) if matrices else lhs.new_zeros(shape)


def backward(ctx, grad_output):
    return gradients(ctx, grad_output, product_hidden)
