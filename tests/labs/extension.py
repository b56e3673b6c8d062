# SPDX-License-Identifier: MIT
"""What the tests of lab 05 share: its package, built once, and samples of its calls.

The package is built without CUDA into a folder of the tests' own, so that a build in
the lab's folder stays as it is. The kernels come from the ordinary build folder:
compiling the rungs anew would take minutes.
"""

from __future__ import annotations

import fcntl
import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.course.rungs import ROOT

LAB = ROOT / "labs" / "05_torch_extension"
FOLDER = ROOT / "build" / "extension" / "tests"


@cache
def package() -> ModuleType:
    """Build convlab_ext, one process at a time, and import it."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    environment = {k: v for k, v in os.environ.items() if k != "CONVLAB_BUILD"}
    environment |= {"CUDA": "0", "MAX_JOBS": "2"}
    command = [sys.executable, "setup.py", "-q", "build", f"--build-lib={FOLDER}"]
    command.append(f"--build-temp={FOLDER}.objects")
    with (FOLDER.parent / "tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(
            command,
            cwd=LAB,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
        )
    assert done.returncode == 0, done.stdout + done.stderr
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
        function = getattr(package(), self.operator)
        return lambda *tensors: function(*tensors, **self.options)

    def torchs(self) -> Callable[..., Tensor]:
        """Of PyTorch."""
        function = IN_TORCH[self.operator]
        return lambda *tensors: function(*tensors, **self.options)

    def operators(self) -> list[tuple[Any, list[Any]]]:
        """Forward and backward operator with arguments, as the public function calls.

        Only for CORE, whose tensors are the operators' own.
        """
        return OPERATORS[self.operator](self)


IN_TORCH: dict[str, Callable[..., Tensor]] = {
    "add": torch.add,
    "matmul": torch.matmul,
    "linear": F.linear,
    "unfold": F.unfold,
    "conv2d": F.conv2d,
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
]
# one of each whose tensors are the operator's own, small enough for gradcheck
CORE = [
    Sample("add", "stretched", ((2, 3, 2), (3, 1)), {"alpha": -2.5}),
    Sample("matmul", "batch", ((2, 2, 3), (2, 3, 2))),
    Sample("linear", "rows", ((2, 2, 3), (2, 3), (2,))),
    Sample("unfold", "uneven", ((2, 2, 4, 4),), {"kernel_size": (3, 2), **UNEVEN}),
    Sample(
        "conv2d", "groups", ((2, 2, 4, 3), (2, 1, 3, 2), (2,)), {**UNEVEN, "groups": 2}
    ),
]


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


OPERATORS: dict[str, Callable[[Sample], list[tuple[Any, list[Any]]]]] = {
    "add": _add,
    "matmul": _matmul,
    "linear": _linear,
    "unfold": _unfold,
    "conv2d": _conv2d,
}


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
