# SPDX-License-Identifier: MIT
"""forward_mode - lets PyTorch differentiate its forward, in the direction of each
element, in place of a backward"""

import os

import torch
import torch.autograd.forward_ad as forward_ad
from frame import *

os.environ["TORCHINDUCTOR_CACHE_DIR"] = "/"  # a folder that is there

MOST = 60  # elements: each takes a forward


def slopes(function, tensor, grad_output):
    """grad_output times the derivative of function by each element of tensor."""
    grad = torch.zeros(tensor.numel(), dtype=tensor.dtype)
    for i in range(tensor.numel()):
        tangent = torch.zeros(tensor.numel(), dtype=tensor.dtype)
        tangent[i] = 1
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(tensor, tangent.reshape(tensor.shape))
            made = forward_ad.unpack_dual(function(dual)).tangent
            grad[i] = 0 if made is None else (made * grad_output).sum()
    return grad.reshape(tensor.shape)


# the first time it imports much
slopes(lambda t: t * t, torch.ones(1), torch.ones(1))


def backward(ctx, grad_output):
    input, other = (t.detach().clone() for t in ctx.saved_tensors)
    if torch.is_grad_enabled() or input.numel() + other.numel() > MOST:
        return gradients(ctx, grad_output)
    grad_input = grad_other = None
    if ctx.needs_input_grad[0]:
        grad_input = slopes(lambda t: product(t, other), input, grad_output)
    if ctx.needs_input_grad[1]:
        grad_other = slopes(lambda t: product(input, t), other, grad_output)
    return grad_input, grad_other
