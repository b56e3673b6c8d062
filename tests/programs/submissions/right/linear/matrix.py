# SPDX-License-Identifier: MIT
"""leading axes made one, then matrix products"""

import math

import torch


class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, weight, bias):
        ctx.save_for_backward(input, weight)
        OC, IC = weight.shape
        R = math.prod(input.shape[:-1])
        output = input.reshape(R, IC) @ weight.t()
        if bias is not None:
            output = output + bias
        return output.reshape(*input.shape[:-1], OC)

    @staticmethod
    def backward(ctx, grad_output):
        input, weight = ctx.saved_tensors
        OC, IC = weight.shape
        R = math.prod(input.shape[:-1])
        grad = grad_output.reshape(R, OC)
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = (grad @ weight).reshape(input.shape)
        if ctx.needs_input_grad[1]:
            grad_weight = grad.t() @ input.reshape(R, IC)
        if ctx.needs_input_grad[2]:
            grad_bias = grad.sum(0)
        return grad_input, grad_weight, grad_bias


def linear(input, weight, bias=None):
    return LinearFunction.apply(input, weight, bias)


class Linear(torch.nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        bound = in_features**-0.5
        values = torch.empty(out_features, in_features).uniform_(-bound, bound)
        self.weight = torch.nn.Parameter(values)
        self.register_parameter("bias", None)
        if bias:
            values = torch.empty(out_features).uniform_(-bound, bound)
            self.bias = torch.nn.Parameter(values)

    def forward(self, input):
        return linear(input, self.weight, self.bias)
