# SPDX-License-Identifier: MIT
"""A plain torch.autograd.Function around the kernel, for five operators of lab 05.

It is what one writes first: it saves what backward needs, and has no other rule. So no
torch.func, no forward mode and no second derivative are possible. Its kernel is that of
convlab_ext, called by torch.ops below the key Autograd.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

below = torch._C._AutoDispatchBelowAutograd
ops = torch.ops.convlab
Function = torch.autograd.Function


class Add(Function):
    """add(input, other, alpha)."""

    @staticmethod
    def forward(ctx: Any, input: Any, other: Any, alpha: float) -> Any:
        """The kernel; sizes are kept."""
        ctx.options = input.shape, other.shape, alpha, list(ctx.needs_input_grad[:2])
        with below():
            return ops.add.default(input, other, alpha)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        """The kernel."""
        with below():
            found = ops.add_backward.default(grad, *ctx.options)
        return (*wanted(found, ctx.needs_input_grad), None)


class Linear(Function):
    """linear(input, weight, bias)."""

    @staticmethod
    def forward(ctx: Any, input: Any, weight: Any, bias: Any) -> Any:
        """The kernel; two factors are kept."""
        ctx.save_for_backward(input, weight)
        with below():
            return ops.linear.default(input, weight, bias)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        """The kernel."""
        input, weight = ctx.saved_tensors
        mask = list(ctx.needs_input_grad)
        with below():
            found = ops.linear_backward.default(grad.contiguous(), input, weight, mask)
        return wanted(found, mask)


class Conv2d(Function):
    """conv2d(input, weight, bias, stride, padding, dilation, groups)."""

    @staticmethod
    def forward(ctx: Any, input: Any, weight: Any, bias: Any, *options: Any) -> Any:
        """The kernel; two factors are kept."""
        ctx.save_for_backward(input, weight)
        ctx.options = options
        with below():
            return ops.conv2d.default(input, weight, bias, *options)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        """The kernel."""
        input, weight = ctx.saved_tensors
        mask = list(ctx.needs_input_grad[:3])
        factors = grad.contiguous(), input, weight
        with below():
            found = ops.conv2d_backward.default(*factors, *ctx.options, mask)
        return (*wanted(found, mask), None, None, None, None)


class LayerNorm(Function):
    """layer_norm(input, normalized_shape, weight, bias, eps)."""

    @staticmethod
    def forward(
        ctx: Any, input: Any, shape: Any, weight: Any, bias: Any, eps: float
    ) -> Any:
        """The kernel; mean and rstd are kept."""
        with below():
            output, mean, rstd = ops.layer_norm.default(input, shape, weight, bias, eps)
        ctx.save_for_backward(input, weight, mean, rstd)
        ctx.eps = eps
        return output

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        """The kernel."""
        needed = ctx.needs_input_grad
        mask = [needed[0], needed[2], needed[3]]
        tensors = grad.contiguous(), *ctx.saved_tensors
        with below():
            made = ops.layer_norm_backward.default(*tensors, ctx.eps, mask)
        found = wanted(made, mask)
        return found[0], None, found[1], found[2], None


class Gelu(Function):
    """gelu(input, approximate)."""

    @staticmethod
    def forward(ctx: Any, input: Any, approximate: str) -> Any:
        """The kernel; the input is kept."""
        ctx.save_for_backward(input)
        ctx.approximate = approximate
        with below():
            return ops.gelu.default(input, approximate)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        """The kernel."""
        (input,) = ctx.saved_tensors
        with below():
            return ops.gelu_backward.default(grad, input, ctx.approximate), None


def wanted(found: Any, mask: Any) -> tuple[Any, ...]:
    """None in the place of a gradient that is not wanted."""
    return tuple(g if want else None for g, want in zip(found, mask))


PLAIN: dict[str, Callable[..., Any]] = {
    "add": Add.apply,
    "linear": Linear.apply,
    "conv2d": Conv2d.apply,
    "layer_norm": LayerNorm.apply,
    "gelu": Gelu.apply,
}
