# SPDX-License-Identifier: MIT
"""What the tests of lab 05 share: its package, built once, and samples of its calls.

The package is built without CUDA into a folder of the tests' own, so that a build in
the lab's folder stays as it is. Its objects are kept in the ordinary build folder:
compiling all rungs anew would take minutes.
"""

from __future__ import annotations

import fcntl
import importlib
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from grader import operators
from grader.course.rungs import ROOT
from tests import output_of

LAB = ROOT / "labs" / "05_torch_extension"
FOLDER = ROOT / "build" / "extension" / "tests"


@cache
def package() -> ModuleType:
    """Build convlab_ext, one process at a time, and import it."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    environment = {k: v for k, v in os.environ.items() if k != "CONVLAB_BUILD"}
    environment |= {"CUDA": "0", "MAX_JOBS": "2", "LEVELS": "native"}
    command = [sys.executable, "setup.py", "-q", "build", f"--build-lib={FOLDER}"]
    command.append(f"--build-temp={FOLDER}.objects")
    with (FOLDER.parent / "tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        output_of(command, cwd=LAB, env=environment, seconds=600)
    sys.path.insert(0, str(FOLDER))
    return importlib.import_module("convlab_ext")


# ---- samples -------------------------------------------------------------------------


@dataclass(frozen=True)
class Sample:
    """One call of an operator's public function, and PyTorch's function for it."""

    operator: str
    name: str
    shapes: tuple[tuple[int, ...], ...]  # of the tensors, in the order of arguments
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """For pytest."""
        return f"{self.operator}-{self.name}"

    def tensors(self, dtype: torch.dtype = torch.float64) -> list[Tensor]:
        """Random operands, the same in each call."""
        random = torch.Generator().manual_seed(7)
        return [
            torch.randn(shape, generator=random, dtype=torch.float64).to(dtype)
            for shape in self.shapes
        ]

    def ours(self) -> Callable[..., Tensor]:
        """Of convlab_ext, as a function of the tensors."""
        return self._with_options(getattr(package(), self.operator))

    def torchs(self) -> Callable[..., Tensor]:
        """Of PyTorch."""
        return self._with_options(IN_TORCH[self.operator])

    def _with_options(self, function: Callable[..., Any]) -> Callable[..., Tensor]:
        if self.operator == "lltm":
            return of_one_state(function)
        if self.operator == "layer_norm":  # the shape stands behind the input
            options = dict(self.options)
            shape = options.pop("normalized_shape")
            return lambda input, *more: function(input, shape, *more, **options)
        return lambda *tensors: function(*tensors, **self.options)

    def operators(self) -> list[tuple[Any, list[Any]]]:
        """Forward and backward operator with arguments, as the public function calls.

        Only for CORE, whose tensors are the operators' own.
        """
        return OPERATORS[self.operator](self)


def _torchs_depthwise(input: Tensor, *more: Any, **options: Any) -> Tensor:
    return F.conv2d(input, *more, **options, groups=input.shape[-3])


def _layer_norm_of_parts(
    input: Tensor,
    shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """The formula. In second derivatives by torch.func, PyTorch's own layer_norm (2.15)
    takes mean and rstd for constants.
    """
    axes = tuple(range(-len(shape), 0))
    centered = input - input.mean(axes, keepdim=True)
    rstd = (centered.square().mean(axes, keepdim=True) + eps).rsqrt()
    output = centered * rstd * (1 if weight is None else weight)
    return output if bias is None else output + bias


IN_TORCH: dict[str, Callable[..., Tensor]] = {
    "add": torch.add,
    "matmul": torch.matmul,
    "linear": F.linear,
    "unfold": F.unfold,
    "conv2d": F.conv2d,
    "depthwise_conv2d": _torchs_depthwise,
    "lltm": operators.get("lltm").reference,
    "gelu": F.gelu,
    "layer_norm": _layer_norm_of_parts,
}

UNEVEN = {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2)}
SAMPLES = [
    Sample("add", "plain", ((2, 3, 4), (2, 3, 4))),
    Sample("add", "stretched", ((3, 1), (2, 1, 4)), {"alpha": -2.5}),
    Sample("add", "number", ((3, 4), ())),
    Sample("add", "empty", ((0, 3), (3,)), {"alpha": 2}),
    Sample("matmul", "matrices", ((3, 5), (5, 4))),
    Sample("matmul", "batch", ((2, 3, 3, 5), (2, 3, 5, 2))),
    Sample("matmul", "stretched", ((3, 1, 3, 5), (2, 5, 2))),
    Sample("matmul", "one_matrix", ((2, 2, 3, 5), (5, 4))),
    Sample("matmul", "vectors", ((5,), (5,))),
    Sample("matmul", "row", ((5,), (3, 5, 2))),
    Sample("matmul", "column", ((3, 4, 5), (5,))),
    Sample("matmul", "empty_batch", ((0, 3, 5), (0, 5, 2))),
    Sample("matmul", "empty_sum", ((2, 0), (0, 3))),
    Sample("linear", "rows", ((3, 4), (5, 4), (5,))),
    Sample("linear", "leading", ((2, 3, 4), (5, 4), (5,))),
    Sample("linear", "one_row", ((4,), (5, 4))),
    Sample("linear", "empty", ((0, 4), (5, 4), (5,))),
    Sample("unfold", "uneven", ((2, 3, 6, 7),), {"kernel_size": (3, 2), **UNEVEN}),
    Sample("unfold", "square", ((2, 1, 5, 4),), {"kernel_size": 2}),
    Sample("unfold", "no_batch", ((2, 5, 4),), {"kernel_size": (1, 2), "stride": 2}),
    Sample("unfold", "empty", ((0, 2, 5, 4),), {"kernel_size": 3, "padding": 1}),
    Sample("conv2d", "plain", ((2, 3, 6, 7), (4, 3, 3, 2), (4,))),
    Sample("conv2d", "uneven", ((2, 3, 6, 7), (4, 3, 3, 2), (4,)), UNEVEN),
    Sample("conv2d", "groups", ((2, 4, 6, 5), (6, 2, 2, 3)), {**UNEVEN, "groups": 2}),
    Sample("conv2d", "no_batch", ((3, 6, 7), (4, 3, 3, 2), (4,)), {"stride": 2}),
    Sample("conv2d", "same", ((2, 3, 6, 7), (4, 3, 4, 3)), {"padding": "same"}),
    Sample("conv2d", "valid", ((2, 3, 6, 7), (4, 3, 1, 1)), {"padding": "valid"}),
    Sample("conv2d", "empty", ((0, 3, 6, 7), (4, 3, 3, 2), (4,)), UNEVEN),
    Sample("depthwise_conv2d", "plain", ((2, 3, 6, 7), (3, 1, 3, 2), (3,))),
    Sample("depthwise_conv2d", "uneven", ((2, 3, 6, 7), (6, 1, 3, 2), (6,)), UNEVEN),
    Sample("depthwise_conv2d", "no_batch", ((3, 6, 7), (3, 1, 3, 2)), {"stride": 2}),
    Sample(
        "depthwise_conv2d", "same", ((2, 3, 6, 7), (6, 1, 4, 3)), {"padding": "same"}
    ),
    Sample("depthwise_conv2d", "empty", ((0, 3, 6, 7), (3, 1, 3, 2), (3,)), UNEVEN),
    Sample("lltm", "cell", ((5, 4), (9, 7), (9,), (5, 3), (5, 3))),
    Sample("lltm", "one", ((1, 1), (3, 2), (3,), (1, 1), (1, 1))),
    Sample("lltm", "empty", ((0, 4), (9, 7), (9,), (0, 3), (0, 3))),
    Sample("gelu", "erf", ((2, 3, 37),)),
    Sample("gelu", "tanh", ((2, 3, 5, 4),), {"approximate": "tanh"}),
    Sample("gelu", "number", ((),)),
    Sample("gelu", "empty", ((3, 0),), {"approximate": "tanh"}),
]
SAMPLES += [
    Sample("layer_norm", "rows", ((3, 4), (4,), (4,)), {"normalized_shape": [4]}),
    Sample("layer_norm", "leading", ((2, 3, 4), (4,)), {"normalized_shape": (4,)}),
    Sample(
        "layer_norm", "odd", ((2, 37), (37,)), {"normalized_shape": [37], "eps": 0.1}
    ),
    Sample("layer_norm", "one_row", ((5,), (5,), (5,)), {"normalized_shape": [5]}),
    Sample(
        "layer_norm",
        "two_axes",
        ((2, 3, 4), (3, 4), (3, 4)),
        {"normalized_shape": [3, 4], "eps": 1e-3},
    ),
    Sample("layer_norm", "empty", ((0, 4), (4,), (4,)), {"normalized_shape": [4]}),
]
# one of each, or of each form, whose tensors are the operator's own, small enough
# for gradcheck
CORE = [
    Sample("add", "stretched", ((2, 3, 2), (3, 1)), {"alpha": -2.5}),
    Sample("matmul", "batch", ((2, 2, 3), (2, 3, 2))),
    Sample("linear", "rows", ((2, 2, 3), (2, 3), (2,))),
    Sample("unfold", "uneven", ((2, 2, 4, 4),), {"kernel_size": (3, 2), **UNEVEN}),
    Sample(
        "conv2d", "groups", ((2, 2, 4, 3), (2, 1, 3, 2), (2,)), {**UNEVEN, "groups": 2}
    ),
    Sample("depthwise_conv2d", "twice", ((2, 2, 4, 3), (4, 1, 3, 2), (4,)), UNEVEN),
    Sample("lltm", "cell", ((2, 2), (6, 4), (6,), (2, 2), (2, 2))),
    Sample("gelu", "erf", ((2, 3),), {"approximate": "none"}),
    Sample("gelu", "tanh", ((3, 2),), {"approximate": "tanh"}),
    Sample(
        "layer_norm",
        "rows",
        ((2, 2, 3), (3,), (3,)),
        {"normalized_shape": [3], "eps": 0.01},
    ),
]


def of_one_state(function: Callable[..., Any]) -> Callable[..., Tensor]:
    """lltm as a function with one result, new_h and new_c side by side, that starts all
    samples of any batch from one state if it is given only one.
    """

    def call(input: Tensor, weight: Tensor, bias: Tensor, *state: Tensor) -> Tensor:
        h, c = (one.expand(input.shape[0], -1) for one in state)
        return torch.cat(function(input, weight, bias, h, c), 1)

    return call


def _add(sample: Sample) -> list[tuple[Any, list[Any]]]:
    input, other = sample.tensors()
    alpha = float(sample.options["alpha"])
    grad = torch.randn_like(input + other)
    sizes = [list(input.shape), list(other.shape)]
    ops = torch.ops.convlab
    return [
        (ops.add.default, [input, other, alpha]),
        (ops.add_backward.default, [grad, *sizes, alpha, [True, True]]),
    ]


def _matmul(sample: Sample) -> list[tuple[Any, list[Any]]]:
    input, other = sample.tensors()
    grad = torch.randn_like(input @ other)
    ops = torch.ops.convlab
    return [
        (ops.matmul.default, [input, other]),
        (ops.matmul_backward.default, [grad, input, other, [True, True]]),
    ]


def _linear(sample: Sample) -> list[tuple[Any, list[Any]]]:
    input, weight, bias = sample.tensors()
    grad = torch.randn_like(F.linear(input, weight))
    ops = torch.ops.convlab
    return [
        (ops.linear.default, [input, weight, bias]),
        (ops.linear_backward.default, [grad, input, weight, [True, True, True]]),
    ]


def _unfold(sample: Sample) -> list[tuple[Any, list[Any]]]:
    (input,) = sample.tensors()
    names = "kernel_size", "dilation", "padding", "stride"
    options = [list(sample.options[name]) for name in names]
    grad = torch.randn_like(F.unfold(input, *options))
    ops = torch.ops.convlab
    return [
        (ops.unfold.default, [input, *options]),
        (ops.unfold_backward.default, [grad, list(input.shape[2:]), *options]),
    ]


def _conv2d(sample: Sample) -> list[tuple[Any, list[Any]]]:
    input, weight, bias = sample.tensors()
    options = [list(sample.options[name]) for name in ("stride", "padding", "dilation")]
    groups = sample.options["groups"]
    grad = torch.randn_like(F.conv2d(input, weight, bias, *options, groups))
    ops = torch.ops.convlab
    mask = [True, True, True]
    return [
        (ops.conv2d.default, [input, weight, bias, *options, groups]),
        (ops.conv2d_backward.default, [grad, input, weight, *options, groups, mask]),
    ]


def _depthwise_conv2d(sample: Sample) -> list[tuple[Any, list[Any]]]:
    input, weight, bias = sample.tensors()
    options = [list(sample.options[name]) for name in ("stride", "padding", "dilation")]
    grad = torch.randn_like(sample.torchs()(input, weight, bias))
    ops = torch.ops.convlab
    mask = [True, True, True]
    return [
        (ops.depthwise_conv2d.default, [input, weight, bias, *options]),
        (ops.depthwise_conv2d_backward.default, [grad, input, weight, *options, mask]),
    ]


def _lltm(sample: Sample) -> list[tuple[Any, list[Any]]]:
    input, weight, bias, h, c = sample.tensors()
    ops = torch.ops.convlab
    _, new_c, gates = ops.lltm(input, weight, bias, h, c)
    grads = torch.randn_like(h), torch.randn_like(c)
    handed = [*grads, input, weight, h, new_c, gates, [True] * 5]
    return [
        (ops.lltm.default, [input, weight, bias, h, c]),
        (ops.lltm_backward.default, handed),
    ]


def _gelu(sample: Sample) -> list[tuple[Any, list[Any]]]:
    (input,) = sample.tensors()
    form, grad = sample.options["approximate"], torch.randn_like(input)
    ops = torch.ops.convlab
    return [
        (ops.gelu.default, [input, form]),
        (ops.gelu_backward.default, [grad, input, form]),
    ]


def _layer_norm(sample: Sample) -> list[tuple[Any, list[Any]]]:
    input, weight, bias = sample.tensors()
    shape, eps = sample.options["normalized_shape"], sample.options["eps"]
    ops = torch.ops.convlab
    _, mean, rstd = ops.layer_norm(input, shape, weight, bias, eps)
    handed = [torch.randn_like(input), input, weight, mean, rstd, eps, [True] * 3]
    return [
        (ops.layer_norm.default, [input, shape, weight, bias, eps]),
        (ops.layer_norm_backward.default, handed),
    ]


OPERATORS: dict[str, Callable[[Sample], list[tuple[Any, list[Any]]]]] = {
    "add": _add,
    "matmul": _matmul,
    "linear": _linear,
    "unfold": _unfold,
    "conv2d": _conv2d,
    "depthwise_conv2d": _depthwise_conv2d,
    "lltm": _lltm,
    "gelu": _gelu,
    "layer_norm": _layer_norm,
}


def with_tensors(arguments: list[Any], tensors: Iterable[Tensor]) -> list[Any]:
    """An operator's arguments with these tensors in the places of its own."""
    others = iter(tensors)
    return [next(others) if isinstance(a, Tensor) else a for a in arguments]


# ---- memory layouts ------------------------------------------------------------------

LAYOUTS = ("row_major", "turned", "channels_last", "every_second", "shifted")


def laid_out(tensor: Tensor, layout: str) -> Tensor:
    """The same numbers in another arrangement in memory; a leaf without gradient."""
    tensor = tensor.detach()
    if layout == "turned" and tensor.dim() > 1:
        return tensor.mT.contiguous().mT
    if layout == "channels_last" and tensor.dim() == 4:
        return tensor.contiguous(memory_format=torch.channels_last)
    if layout == "every_second" and tensor.dim() > 0:
        wide = tensor.repeat_interleave(2, dim=-1)
        return wide[..., ::2]
    if layout == "shifted":
        room = torch.empty(tensor.numel() + 1, dtype=tensor.dtype)
        return room[1:].view(tensor.shape).copy_(tensor)
    return tensor.clone()
