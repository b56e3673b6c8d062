# SPDX-License-Identifier: MIT
"""Lists the calls that PyTorch's own tests make of lab 05's operators and modules.

PyTorch describes its operators in op_db (OpInfo) and its modules in module_db
(ModuleInfo). Both make samples of calls in a given dtype. Some operators have
"reference inputs" too, many more, and "error inputs", which PyTorch refuses. lltm and
subm_conv3d are not operators of PyTorch, so their samples are made here.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import unittest
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn
from torch.testing import make_tensor

from grader import operators
from tests.labs.extension import SAMPLES, package

IN_TORCH = {  # our name -> PyTorch's
    "add": ("add",),
    "matmul": ("matmul", "mm", "bmm"),
    "linear": ("nn.functional.linear",),
    "unfold": ("nn.functional.unfold",),
    "conv2d": ("nn.functional.conv2d",),
    "depthwise_conv2d": ("nn.functional.conv2d",),  # where there is a group a channel
    "gelu": ("nn.functional.gelu",),
    "layer_norm": ("nn.functional.layer_norm",),
}
OURS = ("lltm", "subm_conv3d")  # no operators of PyTorch
MODULES = {
    "Conv2d": "conv2d",
    "GELU": "gelu",
    "LayerNorm": "layer_norm",
    "Linear": "linear",
}
TAKEN = (torch.float32, torch.float64)  # on the CPU
OTHERS = (
    torch.float16,
    torch.bfloat16,
    torch.float8_e4m3fn,
    torch.float8_e4m3fnuz,
    torch.float8_e5m2,
    torch.float8_e5m2fnuz,
    torch.complex32,
    torch.complex64,
    torch.complex128,
    torch.bool,
    torch.uint8,
    torch.uint16,
    torch.uint32,
    torch.uint64,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
)


@dataclass(frozen=True)
class Call:
    """One call, for our function and for PyTorch's."""

    name: str  # the operator's, or the module's
    operator: str  # which sentences about the call name
    ours: Callable[..., Any]
    torchs: Callable[..., Any]
    arguments: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """The call with dtype and shape in place of tensors."""
        words = [shown(a) for a in self.arguments]
        words += [f"{name}={shown(value)}" for name, value in self.options.items()]
        return f"{self.name}({', '.join(words)})"

    def names(self) -> list[str]:
        """The arguments that a sentence about the call can name."""
        return list(inspect.signature(getattr(package(), self.operator)).parameters)


def shown(value: Any) -> str:
    """float32[2, 3] for a tensor."""
    if not isinstance(value, Tensor) or value.is_nested:
        return repr(value)
    sizes = ", ".join(map(str, value.shape))
    return f"{str(value.dtype).removeprefix('torch.')}[{sizes}]"


# ---- PyTorch's material --------------------------------------------------------------


def pytorchs(name: str) -> Any:
    """What PyTorch's tests know of one of its operators."""
    op_db = _material("common_methods_invocations").op_db
    return next(o for o in op_db if o.name == name and not o.variant_test_name)


def pytorchs_module(name: str) -> Any:
    """What PyTorch's tests know of one of its modules."""
    module_db = _material("common_modules").module_db
    return next(one for one in module_db if one.module_cls.__name__ == name)


def _material(name: str) -> Any:
    """A module of PyTorch's test material.

    It wants the package expecttest, for a class that is not used here.
    """
    if "expecttest" not in sys.modules:
        empty = ModuleType("expecttest")
        empty.TestCase = unittest.TestCase  # type: ignore[attr-defined]
        sys.modules["expecttest"] = empty
    # the import forbids to set PyTorch's flags; this takes it back
    with getattr(torch.backends, "__allow_nonbracketed_mutation")():
        return importlib.import_module(f"torch.testing._internal.{name}")


# ---- calls of operators --------------------------------------------------------------


def calls(operator: str, dtype: torch.dtype, *, more: bool = False) -> Iterator[Call]:
    """Samples of an operator in this dtype; `more` adds the reference inputs."""
    torch.manual_seed(0)
    warnings.filterwarnings("ignore", message=".*experimental")  # complex32
    if operator in OURS:
        yield from _of_our_own(operator, dtype)
        return
    wants = dtype.is_floating_point or dtype.is_complex
    for name in IN_TORCH[operator]:
        info = pytorchs(name)
        made = info.reference_inputs if more and name == "add" else info.sample_inputs
        found = made("cpu", dtype, requires_grad=wants)
        yield from _calls(operator, info.op, found)


def refused_by_pytorch(operator: str) -> Iterator[Call]:
    """The calls that PyTorch refuses (error inputs)."""
    for name in IN_TORCH.get(operator, ()):
        info = pytorchs(name)
        if info.error_inputs_func:
            found = [one.sample_input for one in info.error_inputs("cpu")]
            yield from _calls(operator, info.op, found)


def _calls(operator: str, torchs: Any, samples: Iterable[Any]) -> Iterator[Call]:
    ours = getattr(package(), operator)
    for sample in samples:
        options = dict(sample.kwargs)
        if operator == "depthwise_conv2d":
            if not _depthwise(sample.input, options):
                continue
            torchs = depthwise
        yield Call(
            operator, operator, ours, torchs, (sample.input, *sample.args), options
        )


def _depthwise(input: Any, options: dict[str, Any]) -> bool:
    """Whether a call of conv2d has a group for each channel; takes `groups` out."""
    groups = options.pop("groups", 1)
    return isinstance(input, Tensor) and input.dim() > 2 and groups == input.shape[-3]


def depthwise(input: Tensor, *more: Any, **options: Any) -> Tensor:
    """PyTorch's conv2d with a group for each channel."""
    return nn.functional.conv2d(input, *more, **options, groups=input.shape[-3])


POINTS = torch.tensor([[0, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, 1], [1, 0, 0, 1]]).int()
SUBM_CONV3D: list[tuple[int, int, int, tuple[int, ...], Any]] = [
    (4, 3, 2, (1, 3, 3), 1),  # P, IC, OC, kernel, dilation
    (4, 2, 3, (3, 3, 1), (1, 1, 2)),
    (1, 1, 1, (1, 1, 1), 1),
    (0, 3, 2, (1, 3, 3), 1),
]


def _of_our_own(operator: str, dtype: torch.dtype) -> Iterator[Call]:
    ours = getattr(package(), operator)
    reference = operators.get(operator).reference

    def floats(*shape: int) -> Tensor:
        wants = dtype.is_floating_point or dtype.is_complex
        words = {"dtype": dtype, "device": "cpu", "requires_grad": wants}
        return make_tensor(shape, **words, low=0 if dtype is torch.bool else -1, high=2)

    if operator == "lltm":
        for sample in SAMPLES:
            if sample.operator == operator:
                tensors = tuple(floats(*shape) for shape in sample.shapes)
                yield Call(operator, operator, ours, reference, tensors)
        return

    def dense(features: Any, points: Any, weight: Any, bias: Any, dilation: Any) -> Any:
        steps = [dilation] * 3 if isinstance(dilation, int) else dilation
        return reference(features, points, weight, bias, dilation=tuple(steps))

    for P, IC, OC, kernel, dilation in SUBM_CONV3D:
        for bias in (floats(OC), None):
            tensors = floats(P, IC), POINTS[:P], floats(OC, IC, *kernel), bias
            yield Call(operator, operator, ours, dense, (*tensors, dilation))


# ---- calls of modules ----------------------------------------------------------------


def module_calls(name: str, dtype: torch.dtype) -> Iterator[Call]:
    """Samples of a module in this dtype, as functions of input and parameters."""
    info = pytorchs_module(name)
    wants = dtype.is_floating_point or dtype.is_complex
    words = {"device": "cpu", "dtype": dtype, "requires_grad": wants}
    for training in (True, False):
        torch.manual_seed(0)
        for sample in info.module_inputs_func(info, **words, training=training):
            made, given = sample.constructor_input, sample.forward_input
            options = dict(made.kwargs)
            if name != "GELU":
                options["dtype"] = torch.float64  # parameters of any dtype: see below
            ours, torchs = (
                getattr(where, name)(*made.args, **options) for where in (package(), nn)
            )
            parameters = dict(torchs.named_parameters())
            start = [_in(parameter, dtype) for parameter in parameters.values()]
            inputs = (*given.args, *given.kwargs.values())
            yield Call(
                name,
                MODULES[name],
                _as_function(ours, list(parameters)),
                _as_function(torchs, list(parameters)),
                (*inputs, *start),
            )


def _in(parameter: Tensor, dtype: torch.dtype) -> Tensor:
    """A parameter in any dtype: nn.Parameter itself takes whole numbers not at all."""
    wants = dtype.is_floating_point or dtype.is_complex
    return parameter.detach().to(dtype).requires_grad_(wants)


def _as_function(module: nn.Module, names: list[str]) -> Callable[..., Any]:
    def call(input: Tensor, *parameters: Tensor) -> Any:
        values = dict(zip(names, parameters))
        return torch.func.functional_call(module, values, (input,))

    return call
