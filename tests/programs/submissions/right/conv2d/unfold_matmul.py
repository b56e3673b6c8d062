# SPDX-License-Identifier: MIT
"""unfold, and a matrix product for each group"""

import torch


def pair(value):
    return (value, value) if isinstance(value, int) else tuple(value)


def windows(size, kernel, stride, padding, dilation):
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    return room // stride + 1 if room >= 0 else 0


class Conv2dFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, weight, bias, stride, padding, dilation, groups):
        n, _, ih, iw = input.shape
        oc, icg, kh, kw = weight.shape
        oh = windows(ih, kh, stride[0], padding[0], dilation[0])
        ow = windows(iw, kw, stride[1], padding[1], dilation[1])
        ctx.save_for_backward(input, weight)
        ctx.options = (kh, kw), dilation, padding, stride
        ctx.groups = groups
        col = torch.nn.functional.unfold(input, *ctx.options)
        col = col.reshape(n, groups, icg * kh * kw, oh * ow)
        filters = weight.reshape(groups, oc // groups, icg * kh * kw)
        output = (filters @ col).reshape(n, oc, oh, ow)
        if bias is not None:
            output = output + bias.reshape(1, oc, 1, 1)
        return output

    @staticmethod
    def backward(ctx, grad_output):
        input, weight = ctx.saved_tensors
        n, _, ih, iw = input.shape
        oc, icg, kh, kw = weight.shape
        g, k = ctx.groups, icg * kh * kw
        size = grad_output.shape[2] * grad_output.shape[3]
        grad = grad_output.reshape(n, g, oc // g, size)
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            col = weight.reshape(g, oc // g, k).transpose(1, 2) @ grad
            col = col.reshape(n, g * k, size)
            grad_input = torch.nn.functional.fold(col, (ih, iw), *ctx.options)
        if ctx.needs_input_grad[1]:
            col = torch.nn.functional.unfold(input, *ctx.options)
            col = col.reshape(n, g, k, size)
            grad_weight = (grad @ col.transpose(2, 3)).sum(0).reshape(weight.shape)
        if ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum((0, 2, 3))
        return grad_input, grad_weight, grad_bias, None, None, None, None


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    return Conv2dFunction.apply(
        input, weight, bias, pair(stride), pair(padding), pair(dilation), groups
    )


class Conv2d(torch.nn.Module):
    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        bias=True,
    ):
        super().__init__()
        self.options = stride, padding, dilation, groups
        shape = out_channels, in_channels // groups, *pair(kernel_size)
        bound = (shape[1] * shape[2] * shape[3]) ** -0.5
        self.weight = torch.nn.Parameter(torch.empty(shape).uniform_(-bound, bound))
        self.register_parameter("bias", None)
        if bias:
            values = torch.empty(out_channels).uniform_(-bound, bound)
            self.bias = torch.nn.Parameter(values)

    def forward(self, input):
        return conv2d(input, self.weight, self.bias, *self.options)
