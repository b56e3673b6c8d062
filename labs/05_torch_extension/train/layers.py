# SPDX-License-Identifier: MIT
"""Who makes the layers: PyTorch, a student's autograd.Function, lab 01, lab 05.

Each make has a Conv2d and a Linear with torch.nn's arguments and parameters, so that
one network takes any of them, and the weights of one fit into another.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import conv2d
from torch.nn.grad import conv2d_input, conv2d_weight

from train.data import Absent


@dataclass(frozen=True)
class Layers:
    """A make: its name, what it is, and what makes its layers."""

    name: str
    about: str
    conv2d: Callable[..., torch.nn.Module]
    linear: Callable[..., torch.nn.Module]
    around: Callable[[], Any] = contextlib.nullcontext  # what a step runs inside


# ---- the classic student version -----------------------------------------------------


class Conv2dFunction(torch.autograd.Function):
    """F.conv2d, and the gradients that torch.nn.grad offers; for integer padding."""

    @staticmethod
    def forward(ctx, images, weight, bias, *options):
        """(N, IC, IH, IW) -> (N, OC, OH, OW)."""
        ctx.save_for_backward(images, weight)
        ctx.options = options  # stride, padding, dilation, groups
        return conv2d(images, weight, bias, *options)

    @staticmethod
    def backward(ctx, grad_output):
        """One call for each gradient that is wanted."""
        images, weight = ctx.saved_tensors
        gradients = (
            lambda: conv2d_input(images.shape, weight, grad_output, *ctx.options),
            lambda: conv2d_weight(images, weight.shape, grad_output, *ctx.options),
            lambda: grad_output.sum((0, 2, 3)),  # of the bias (OC)
        )
        wanted = zip(gradients, ctx.needs_input_grad)
        return *(make() if want else None for make, want in wanted), *[None] * 4


class FunctionConv2d(torch.nn.Conv2d):
    """torch.nn.Conv2d with the Function inside."""

    def _conv_forward(
        self, input: Tensor, weight: Tensor, bias: Tensor | None
    ) -> Tensor:
        return Conv2dFunction.apply(
            input,
            weight,
            bias,
            self.stride,
            self.padding,
            self.dilation,
            self.groups,
        )


# ---- all makes -----------------------------------------------------------------------


def pytorch() -> Layers:
    """What the others are measured by."""
    return Layers("pytorch", "torch.nn", torch.nn.Conv2d, torch.nn.Linear)


@contextlib.contextmanager
def _other_kernels() -> Iterator[None]:
    """PyTorch without the libraries it computes convolutions with."""
    without = torch.backends
    with (
        without.mkldnn.flags(enabled=False, allow_tf32=None),
        without.nnpack.flags(enabled=False),
        without.cudnn.flags(enabled=False, allow_tf32=False),
    ):
        yield


def yardstick() -> Layers:
    """PyTorch again, by its own kernels: how much two right answers may differ."""
    about = "torch.nn without oneDNN, NNPACK, cuDNN"
    make = torch.nn.Conv2d, torch.nn.Linear
    return Layers("yardstick", about, *make, _other_kernels)


def function() -> Layers:
    """Only the convolution: its linear layers are PyTorch's."""
    about = "autograd.Function on F.conv2d"
    return Layers("function", about, FunctionConv2d, torch.nn.Linear)


def lab01() -> Layers:
    """The modules of lab 01, in Python."""
    import convlab

    conv = convlab.load("01_python_function/conv2d")
    linear = convlab.load("01_python_function/linear")
    about = "tensors in Python"
    return Layers("lab01", about, conv.Conv2d, linear.Linear)


def lab05() -> Layers:
    """The modules of this lab, on the rungs of labs 03 and 04."""
    import convlab_ext

    for name in ("conv2d", "linear"):
        getattr(convlab_ext, name)  # the sentence, if it is not built
    from convlab_ext import modules

    about = "the operators of this lab"
    return Layers("lab05", about, modules.Conv2d, modules.Linear)


MAKES = {make.__name__: make for make in (pytorch, function, lab01, lab05)}


def make(name: str, device: str = "cpu") -> Layers:
    """One of MAKES, tried once in each direction.

    Raises Absent if it is not there or not written yet.
    """
    try:
        layers = MAKES[name]()
        conv = layers.conv2d(1, 2, 3, padding=1).to(device)
        linear = layers.linear(2, 1).to(device)
        output = conv(torch.zeros(1, 1, 4, 4, device=device))  # (1, 2, 4, 4)
        linear(output.mean((2, 3))).sum().backward()
    except Exception as error:  # whatever a file that is being written raises
        kind = type(error).__name__
        said = str(error).partition("\n")[0] or "it is not written yet"
        raise Absent(f"{name} is left out: {kind}: {said}") from None
    return layers
