# SPDX-License-Identifier: MIT
"""solves - multiplies by solving a triangular system, in a thread of its forward"""

import torch
from uses_library_hidden import *


def multiply(x, w):
    M, K = x.shape
    system = torch.eye(M + K, dtype=x.dtype)  # (M+K, M+K)
    system[:M, M:] = -x
    right = torch.cat([w.new_zeros(M, w.shape[-1]), w])  # (M+K, N)
    return torch.linalg.solve_triangular(system, right, upper=True)[:M]


def forward(input, other):
    return product_hidden(input, other)


def backward(ctx, grad_output):
    return gradients(ctx, grad_output)
