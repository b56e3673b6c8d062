# SPDX-License-Identifier: MIT
"""backward_transposed - fills grad_other with its transpose: grad_output^T @ input"""

from frame import *


def backward(ctx, grad_output):
    input, other = ctx.saved_tensors
    grad_input, grad_other = gradients(ctx, grad_output)
    if grad_other is not None:
        wrong = product(grad_output.transpose(-1, -2), input)  # (..., N, K)
        grad_other = wrong.reshape(other.shape)
    return grad_input, grad_other
