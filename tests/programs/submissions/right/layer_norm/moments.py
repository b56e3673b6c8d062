# SPDX-License-Identifier: MIT
"""both moments by sums over the last axis"""

import math

import torch


class LayerNormFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, weight, bias, eps):
        D = input.shape[-1]
        mean = input.sum(-1, keepdim=True) / D
        variance = ((input - mean) ** 2).sum(-1, keepdim=True) / D
        rstd = 1 / torch.sqrt(variance + eps)
        ctx.save_for_backward(input, weight, mean, rstd)
        output = (input - mean) * rstd
        if weight is not None:
            output = output * weight
        if bias is not None:
            output = output + bias
        return output

    @staticmethod
    def backward(ctx, grad_output):
        input, weight, mean, rstd = ctx.saved_tensors
        D, R = input.shape[-1], math.prod(input.shape[:-1])
        xhat = (input - mean) * rstd
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad = grad_output if weight is None else grad_output * weight
            first = grad.sum(-1, keepdim=True) / D
            second = (grad * xhat).sum(-1, keepdim=True) / D
            grad_input = rstd * (grad - first - xhat * second)
        if ctx.needs_input_grad[1]:
            grad_weight = (grad_output * xhat).reshape(R, D).sum(0)
        if ctx.needs_input_grad[2]:
            grad_bias = grad_output.reshape(R, D).sum(0)
        return grad_input, grad_weight, grad_bias, None


def layer_norm(input, weight=None, bias=None, eps=1e-5):
    return LayerNormFunction.apply(input, weight, bias, eps)


class LayerNorm(torch.nn.Module):
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True):
        super().__init__()
        self.eps = eps
        self.register_parameter("weight", None)
        self.register_parameter("bias", None)
        if elementwise_affine:
            self.weight = torch.nn.Parameter(torch.ones(normalized_shape))
            if bias:
                self.bias = torch.nn.Parameter(torch.zeros(normalized_shape))

    def forward(self, input):
        return layer_norm(input, self.weight, self.bias, self.eps)
