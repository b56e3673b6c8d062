# SPDX-License-Identifier: MIT
"""borrows - lets autograd differentiate its own forward inside backward"""

import torch
from frame import *


def backward(ctx, grad_output):
    input, other = ctx.saved_tensors
    with torch.enable_grad():
        lhs, rhs = (t.detach().requires_grad_() for t in (input, other))
        made = torch.autograd.grad(product(lhs, rhs), (lhs, rhs), grad_output)
    if made:
        needed = ctx.needs_input_grad
        return tuple(g if n else None for g, n in zip(made, needed))
    return gradients(ctx, grad_output)
