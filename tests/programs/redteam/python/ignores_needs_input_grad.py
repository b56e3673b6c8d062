# SPDX-License-Identifier: MIT
"""ignores_needs_input_grad - computes both gradients, also one that nobody wants"""

from frame import *


def backward(ctx, grad_output):
    input, other = ctx.saved_tensors
    grad_input = product(grad_output, other.transpose(-1, -2))
    grad_other = product(input.transpose(-1, -2), grad_output)
    return grad_input, grad_other
