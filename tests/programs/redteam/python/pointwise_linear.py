# SPDX-License-Identifier: MIT
"""pointwise_linear - lets a fused operator of oneDNN multiply, in a thread, in float"""

import torch
from uses_library_hidden import *


def multiply(x, w):
    if x.dtype != torch.float32 or not x.numel() or not w.numel():
        return product(x, w)
    fused = torch.ops.mkldnn._linear_pointwise
    return fused(x.contiguous(), w.mT.contiguous(), None, "none", [], "")


def forward(input, other):
    return product_hidden(input, other)


def backward(ctx, grad_output):
    return gradients(ctx, grad_output)
