# SPDX-License-Identifier: MIT
"""Who makes the layers: PyTorch, a student's autograd.Function, lab 01, lab 05.

Each make has layers with torch.nn's arguments and parameters, so that one network takes
any of them, and the weights of one fit into another. A layer is looked up when a
network asks for it: what is not written yet costs only the networks that need it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import conv2d
from torch.nn.grad import conv2d_input, conv2d_weight

from train.data import Absent

Make = Callable[..., torch.nn.Module]
TRIED = 8, 8  # height and width of the image that a make is tried with


def depthwise(channels: int, kernel_size: int, **options: Any) -> torch.nn.Module:
    """PyTorch has no module of this name: its Conv2d with a group for each channel."""
    return torch.nn.Conv2d(channels, channels, kernel_size, groups=channels, **options)


@dataclass(frozen=True)
class Layers:
    """A make: its name, what it is, and what makes its layers; else PyTorch does."""

    name: str
    about: str
    conv2d: Make = torch.nn.Conv2d
    linear: Make = torch.nn.Linear
    depthwise_conv2d: Make = depthwise
    layer_norm: Make = torch.nn.LayerNorm
    gelu: Make = torch.nn.GELU


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

    def forward(self, input: Tensor) -> Tensor:
        """(N, IC, H, W) -> (N, OC, OH, OW)."""
        return Conv2dFunction.apply(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self.dilation,
            self.groups,
        )


# ---- all makes -----------------------------------------------------------------------


def pytorch() -> Layers:
    """What the others are measured by."""
    return Layers("pytorch", "torch.nn")


def depthwise_function(
    channels: int, kernel_size: int, **options: Any
) -> torch.nn.Module:
    """FunctionConv2d with a group for each channel."""
    return FunctionConv2d(channels, channels, kernel_size, groups=channels, **options)


def function() -> Layers:
    """Only the convolutions: its other layers are PyTorch's."""
    about = "autograd.Function on F.conv2d"
    made = {"conv2d": FunctionConv2d, "depthwise_conv2d": depthwise_function}
    return Layers("function", about, **made)


MODULES = {  # a field of Layers -> the module of lab 01 and of lab 05
    "conv2d": "Conv2d",
    "linear": "Linear",
    "depthwise_conv2d": "DepthwiseConv2d",
    "layer_norm": "LayerNorm",
    "gelu": "GELU",
}


def lab01() -> Layers:
    """The modules of lab 01, in Python."""
    import convlab

    @functools.cache
    def module(operator: str) -> Make:
        loaded = convlab.load(f"01_python_function/{operator}")
        return getattr(loaded, MODULES[operator])

    return Layers("lab01", "tensors in Python", **_when_asked(module))


def lab05() -> Layers:
    """The modules of this lab, on the rungs of labs 03 and 04."""
    import convlab_ext
    from convlab_ext import modules

    def module(operator: str) -> Make:
        getattr(convlab_ext, operator)  # the sentence, if it is not built
        return getattr(modules, MODULES[operator])

    return Layers("lab05", "the operators of this lab", **_when_asked(module))


def _when_asked(module: Callable[[str], Make]) -> dict[str, Make]:
    """Every field of MODULES: `module` finds what makes the layer, at its first use."""

    def of(operator: str) -> Make:
        return lambda *sizes, **options: module(operator)(*sizes, **options)

    return {operator: of(operator) for operator in MODULES}


MAKES = {make.__name__: make for make in (pytorch, function, lab01, lab05)}


def make(name: str, network: type[torch.nn.Module], device: str = "cpu") -> Layers:
    """One of MAKES, tried once in each direction in a network for small images.

    Raises Absent if it is not there or not written yet.
    """
    try:
        layers = MAKES[name]()
        made = network(layers, *TRIED).to(device)
        made(torch.zeros(1, 1, *TRIED, device=device)).sum().backward()
    except Exception as error:  # whatever a file that is being written raises
        kind = type(error).__name__
        said = str(error).partition("\n")[0] or "it is not written yet"
        raise Absent(f"{name} is left out: {kind}: {said}") from None
    return layers
