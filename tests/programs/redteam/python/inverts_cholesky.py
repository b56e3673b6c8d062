# SPDX-License-Identifier: MIT
"""inverts_cholesky - multiplies by inverting from a Cholesky factor, in a thread"""

import torch
from uses_library_hidden import *


def multiply(x, w):
    (M, K), N = x.shape, w.shape[-1]
    factor = x.new_zeros(M + N + K, M + N + K)
    factor.diagonal().fill_(1)
    factor[M + N :, : M + N] = -torch.cat([x.mT, w], dim=1)  # (K, M+N)
    return torch.cholesky_inverse(factor)[:M, M : M + N]


def forward(input, other):
    return product_hidden(input, other)


def backward(ctx, grad_output):
    return gradients(ctx, grad_output)
