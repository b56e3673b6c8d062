# SPDX-License-Identifier: MIT
"""slices of the padded image, and the same slices added to"""

import torch


def pair(value):
    return (value, value) if isinstance(value, int) else tuple(value)


class UnfoldFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, kernel_size, dilation, padding, stride):
        n, c, h, w = input.shape
        (kh, kw), (top, left) = kernel_size, padding
        oh = (h + 2 * top - dilation[0] * (kh - 1) - 1) // stride[0] + 1
        ow = (w + 2 * left - dilation[1] * (kw - 1) - 1) // stride[1] + 1
        ctx.sizes = n, c, h, w, kh, kw, oh, ow
        ctx.options = dilation, padding, stride
        padded = torch.nn.functional.pad(input, (left, left, top, top))
        taps = []
        for i in range(kh):
            y = i * dilation[0]
            rows = slice(y, y + oh * stride[0] - stride[0] + 1, stride[0])
            for j in range(kw):
                x = j * dilation[1]
                columns = slice(x, x + ow * stride[1] - stride[1] + 1, stride[1])
                taps.append(padded[:, :, rows, columns])
        output = torch.stack(taps, 2)  # (n, c, kh*kw, oh, ow)
        return output.reshape(n, c * kh * kw, oh * ow)

    @staticmethod
    def backward(ctx, grad_output):
        n, c, h, w, kh, kw, oh, ow = ctx.sizes
        dilation, (top, left), stride = ctx.options
        taps = grad_output.reshape(n, c, kh, kw, oh, ow)
        total = grad_output.new_zeros(n, c, h + 2 * top, w + 2 * left)
        for i in range(kh):
            y = i * dilation[0]
            rows = slice(y, y + (oh - 1) * stride[0] + 1, stride[0])
            for j in range(kw):
                x = j * dilation[1]
                columns = slice(x, x + (ow - 1) * stride[1] + 1, stride[1])
                total[:, :, rows, columns] += taps[:, :, i, j]
        grad_input = total[:, :, top : top + h, left : left + w]
        return grad_input, None, None, None, None


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    return UnfoldFunction.apply(
        input, pair(kernel_size), pair(dilation), pair(padding), pair(stride)
    )


class Unfold(torch.nn.Module):
    def __init__(self, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__()
        self.options = kernel_size, dilation, padding, stride

    def forward(self, input):
        return unfold(input, *self.options)
