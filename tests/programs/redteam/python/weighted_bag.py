# SPDX-License-Identifier: MIT
"""weighted_bag - multiplies by looking up weighted rows, in a thread of its forward"""

import torch
from uses_library_hidden import *


def multiply(x, w):
    M, K = x.shape
    every = torch.arange(K).expand(M, K)
    return torch.nn.functional.embedding_bag(every, w, per_sample_weights=x, mode="sum")


def forward(input, other):
    return product_hidden(input, other)


def backward(ctx, grad_output):
    return gradients(ctx, grad_output)
