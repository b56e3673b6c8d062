# SPDX-License-Identifier: MIT
"""Holds the operators' signatures in Python: names, argument order, options, shapes.

The C side of the contract is common/operators.h; a test parses it and compares. Lab 01
follows the signatures below. Each file of lab 01 defines a module class, and a function
with the operator's name, ``conv2d(input, weight, bias=None, stride=1, padding=0,
dilation=1, groups=1)``. The inputs come first and then the options, with PyTorch's
names and in PyTorch's order. The grader and the notebooks read argument lists only from
here.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

DIRECTIONS = ("forward", "backward")
REQUIRED = object()  # the default of an option that has none


@dataclass(frozen=True)
class Argument:
    """A tensor that an operator takes or gives."""

    name: str
    shape: str  # as in operators.h: "(N, IC, IH, IW)"
    dtype: str = "real"  # real, accum, i32 or i64
    optional: bool = False  # may be None in Python, NULL in C


@dataclass(frozen=True)
class Option:
    """A value that is no tensor. With axes it has a field in C for each of them:
    stride_h, stride_w.
    """

    name: str  # PyTorch's name
    default: Any = REQUIRED
    axes: str = ""  # "hw", "dhw": one int for all, or one each (depth, height, width)
    kind: str = "int"  # int, float, or choice
    choices: tuple[str, ...] = ()  # of a choice; C counts them from 1
    keyword_only: bool = False

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of its fields in the operator's options struct."""
        stem = self.name.removesuffix("_size")
        return tuple(f"{stem}_{axis}" for axis in self.axes) or (stem,)

    def values(self, value: Any) -> tuple[int | float, ...]:
        """What its fields hold for a Python value: with two axes 2 is (2, 2)."""
        if self.kind == "choice":
            return (self.choices.index(value) + 1,)
        if isinstance(value, (tuple, list)):
            return tuple(value)
        return (value,) * len(self.fields)


@dataclass(frozen=True)
class Signature:
    """One operator: what goes in, what comes out, what backward is handed."""

    name: str
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]  # the results, in order
    options: tuple[Option, ...] = ()
    saved: tuple[Argument, ...] = ()  # outputs of forward made for backward
    backward: tuple[str, ...] = ()  # inputs and outputs backward is handed, in order
    gradients: tuple[str, ...] = ()  # inputs that have a gradient, in order
    module: str = ""  # the class name in lab 01
    module_arguments: tuple[str, ...] = ()  # what its constructor takes before options
    shape_argument: str = ""  # lab 05, after the first input: its last size, in a list

    @property
    def arguments(self) -> list[str]:
        """The names that PyTorch's function and lab 05's schema take, in order."""
        first, *others = [argument.name for argument in self.inputs]
        shape = [self.shape_argument] if self.shape_argument else []
        return [first, *shape, *others, *(option.name for option in self.options)]

    def resolve(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """All options by name, defaults filled in, one number for each axis.

        Raises TypeError for an option the operator does not have, or lacks.
        """
        unknown = set(given) - {option.name for option in self.options}
        if unknown:
            listed = ", ".join(option.name for option in self.options) or "none"
            raise TypeError(
                f"{self.name}: no option {sorted(unknown)[0]!r} (its options: {listed})"
            )
        values = {}
        for option in self.options:
            value = given.get(option.name, option.default)
            if value is REQUIRED:
                raise TypeError(f"{self.name}: option {option.name!r} is missing")
            values[option.name] = option.values(value) if option.axes else value
        return values

    def pack(self, options: Mapping[str, Any]) -> bytes:
        """The operator's options struct as bytes: int64 and double fields, in order."""
        data = b""
        values = self.resolve(options)
        for option in self.options:
            code = "d" if option.kind == "float" else "q"
            for value in option.values(values[option.name]):
                data += struct.pack(f"={code}", value)
        return data


_WINDOW = (
    Option("stride", 1, axes="hw"),
    Option("padding", 0, axes="hw"),
    Option("dilation", 1, axes="hw"),
)
_BIAS = Argument("bias", "(OC)", optional=True)
_IMAGE = Argument("input", "(N, IC, IH, IW)")
_CONV2D = Signature(
    "conv2d",
    inputs=(_IMAGE, Argument("weight", "(OC, IC/G, KH, KW)"), _BIAS),
    options=(*_WINDOW, Option("groups", 1)),
    outputs=(Argument("output", "(N, OC, OH, OW)"),),
    backward=("input", "weight"),
    gradients=("input", "weight", "bias"),
    module="Conv2d",
    module_arguments=("in_channels", "out_channels", "kernel_size", "bias"),
)

SIGNATURES: dict[str, Signature] = {
    signature.name: signature
    for signature in (
        Signature(
            "add",
            inputs=(Argument("input", "(...)"), Argument("other", "(...)")),
            options=(Option("alpha", 1, kind="float", keyword_only=True),),
            outputs=(Argument("output", "(...)"),),
            gradients=("input", "other"),
            module="Add",
        ),
        Signature(
            "matmul",
            inputs=(Argument("input", "(..., M, K)"), Argument("other", "(..., K, N)")),
            outputs=(Argument("output", "(..., M, N)"),),
            backward=("input", "other"),
            gradients=("input", "other"),
            module="MatMul",
        ),
        Signature(
            "linear",
            inputs=(
                Argument("input", "(..., IC)"),
                Argument("weight", "(OC, IC)"),
                _BIAS,
            ),
            outputs=(Argument("output", "(..., OC)"),),
            backward=("input", "weight"),
            gradients=("input", "weight", "bias"),
            module="Linear",
            module_arguments=("in_features", "out_features", "bias"),
        ),
        Signature(
            "unfold",
            inputs=(_IMAGE,),
            options=(
                Option("kernel_size", axes="hw"),
                Option("dilation", 1, axes="hw"),
                Option("padding", 0, axes="hw"),
                Option("stride", 1, axes="hw"),
            ),
            outputs=(Argument("output", "(N, IC*KH*KW, OH*OW)"),),
            gradients=("input",),
            module="Unfold",
        ),
        _CONV2D,
        replace(
            _CONV2D,
            name="depthwise_conv2d",
            inputs=(_IMAGE, Argument("weight", "(OC, 1, KH, KW)"), _BIAS),
            options=_WINDOW,
            module="DepthwiseConv2d",
            module_arguments=("channels", "kernel_size", "bias", "multiplier"),
        ),
        Signature(
            "gelu",
            inputs=(Argument("input", "(...)"),),
            options=(
                Option(
                    "approximate",
                    "none",
                    kind="choice",
                    choices=("none", "tanh"),
                    keyword_only=True,
                ),
            ),
            outputs=(Argument("output", "(...)"),),
            backward=("input",),
            gradients=("input",),
            module="GELU",
        ),
        Signature(
            "layer_norm",
            inputs=(
                Argument("input", "(..., D)"),
                Argument("weight", "(D)", optional=True),
                Argument("bias", "(D)", optional=True),
            ),
            options=(Option("eps", 1e-5, kind="float"),),
            outputs=(Argument("output", "(..., D)"),),
            saved=(
                Argument("mean", "(...)", dtype="accum", optional=True),
                Argument("rstd", "(...)", dtype="accum", optional=True),
            ),
            backward=("input", "weight", "mean", "rstd"),
            gradients=("input", "weight", "bias"),
            module="LayerNorm",
            module_arguments=("normalized_shape", "elementwise_affine", "bias"),
            shape_argument="normalized_shape",
        ),
        Signature(
            "lltm",
            inputs=(
                Argument("input", "(N, IC)"),
                Argument("weight", "(3*H, H+IC)"),
                Argument("bias", "(3*H)"),
                Argument("h", "(N, H)"),
                Argument("c", "(N, H)"),
            ),
            outputs=(Argument("new_h", "(N, H)"), Argument("new_c", "(N, H)")),
            saved=(Argument("gates", "(N, 3*H)", optional=True),),
            backward=("input", "weight", "h", "new_c", "gates"),
            gradients=("input", "weight", "bias", "h", "c"),
            module="LLTM",
            module_arguments=("input_features", "state_size"),
        ),
        Signature(
            "subm_conv3d",
            inputs=(
                Argument("features", "(P, IC)"),
                Argument("coordinates", "(P, 4)", dtype="i32"),
                Argument("weight", "(OC, IC, KD, KH, KW)"),
                _BIAS,
            ),
            options=(Option("dilation", 1, axes="dhw"),),
            outputs=(Argument("output", "(P, OC)"),),
            saved=(
                Argument("rulebook", "(KD*KH*KW, P, 2)", dtype="i32", optional=True),
                Argument("count", "(KD*KH*KW)", dtype="i64", optional=True),
            ),
            backward=("features", "weight", "rulebook", "count"),
            gradients=("features", "weight", "bias"),
            module="SubmConv3d",
            module_arguments=("in_channels", "out_channels", "kernel_size", "bias"),
        ),
    )
}
