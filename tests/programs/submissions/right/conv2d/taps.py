# SPDX-License-Identifier: MIT
"""slices of the padded image, one tap after the other"""

import torch


def pair(value):
    return (value, value) if isinstance(value, int) else tuple(value)


def windows(size, kernel, stride, padding, dilation):
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    return room // stride + 1 if room >= 0 else 0


def tap(k, count, stride, dilation):
    first = k * dilation
    return slice(first, first + (count - 1) * stride + 1, stride)


class Conv2dFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, weight, bias, stride, padding, dilation, groups):
        N, IC, IH, IW = input.shape
        OC, ICG, KH, KW = weight.shape
        OH = windows(IH, KH, stride[0], padding[0], dilation[0])
        OW = windows(IW, KW, stride[1], padding[1], dilation[1])
        ctx.save_for_backward(input, weight)
        ctx.options = stride, padding, dilation, groups
        top, left = padding
        padded = torch.nn.functional.pad(input, (left, left, top, top))
        output = input.new_zeros(N, groups, OC // groups, OH * OW)
        for kh in range(KH):
            rows = tap(kh, OH, stride[0], dilation[0])
            for kw in range(KW):
                columns = tap(kw, OW, stride[1], dilation[1])
                seen = padded[:, :, rows, columns].reshape(N, groups, ICG, OH * OW)
                w = weight[:, :, kh, kw].reshape(groups, OC // groups, ICG)
                output += w @ seen
        output = output.reshape(N, OC, OH, OW)
        return output if bias is None else output + bias.reshape(OC, 1, 1)

    @staticmethod
    def backward(ctx, grad_output):
        input, weight = ctx.saved_tensors
        stride, (top, left), dilation, groups = ctx.options
        N, IC, IH, IW = input.shape
        OC, ICG, KH, KW = weight.shape
        _, _, OH, OW = grad_output.shape
        padded = torch.nn.functional.pad(input, (left, left, top, top))
        grad_padded = input.new_zeros(padded.shape)
        grad_weight = input.new_zeros(weight.shape)
        grad = grad_output.reshape(N, groups, OC // groups, OH * OW)
        for kh in range(KH):
            rows = tap(kh, OH, stride[0], dilation[0])
            for kw in range(KW):
                columns = tap(kw, OW, stride[1], dilation[1])
                seen = padded[:, :, rows, columns].reshape(N, groups, ICG, OH * OW)
                w = weight[:, :, kh, kw].reshape(groups, OC // groups, ICG)
                part = (w.mT @ grad).reshape(N, IC, OH, OW)
                grad_padded[:, :, rows, columns] += part
                product = (grad @ seen.mT).sum(0)
                grad_weight[:, :, kh, kw] = product.reshape(OC, ICG)
        grad_input = grad_padded[:, :, top : top + IH, left : left + IW]
        grad_bias = grad_output.sum((0, 2, 3))
        grads = grad_input, grad_weight, grad_bias
        wanted = zip(grads, ctx.needs_input_grad)
        return *(g if w else None for g, w in wanted), None, None, None, None


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
