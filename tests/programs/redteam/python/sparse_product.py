# SPDX-License-Identifier: MIT
"""sparse_product - multiplies sparse matrices, in a thread of its forward"""

import torch
from uses_library_hidden import *


def multiply(x, w):
    return torch.sparse.mm(x.to_sparse(), w)


def forward(input, other):
    return product_hidden(input, other)


def backward(ctx, grad_output):
    return gradients(ctx, grad_output)
