# SPDX-License-Identifier: MIT
"""what x is multiplied by, and its derivative"""

import math

import torch

K = math.sqrt(2 / math.pi)
C = 0.044715


def weight(x, form):
    if form == "tanh":
        return 0.5 * (1 + torch.tanh(K * (x + C * x * x * x)))
    return 0.5 * (1 + torch.erf(x / math.sqrt(2)))


def slope(x, form):
    if form == "tanh":
        t = torch.tanh(K * (x + C * x * x * x))
        inner = K * (1 + 3 * C * x * x)
        return 0.5 * (1 - t * t) * inner
    return torch.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


class GeluFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, form):
        ctx.save_for_backward(x)
        ctx.form = form
        return x * weight(x, form)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (weight(x, ctx.form) + x * slope(x, ctx.form)), None


def gelu(input, *, approximate="none"):
    return GeluFunction.apply(input, approximate)


class GELU(torch.nn.Module):
    def __init__(self, approximate="none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, input):
        return gelu(input, approximate=self.approximate)
