# SPDX-License-Identifier: MIT
"""Runs an operator of lab 05 in the Python worker, from the package convlab_ext.

The package was built before. The operator is called like a function of lab 01, and the
same rules hold. So the kernels of PyTorch's own convolutions and products are replaced,
for every thread and route.
"""

from __future__ import annotations

import importlib
import re
import sys
import types
from collections.abc import Callable
from typing import Any

import torch
from signatures import Signature

from grader.runner.worker.student import RUN_MODULE, Task, Tensors
from grader.runner.worker.student_memory import ContractError
from grader.runner.worker.student_rules import Rules, quoted

MODULES = ("Conv2d", "DepthwiseConv2d", "LayerNorm", "Linear", "LLTM", "SubmConv3d")

# what PyTorch says of a rule that is missing -> what to do; the first that fits
ADVICE = (
    (
        r"Could not run 'convlab::\w+'",
        "the operator has no kernel for the CPU: register one with m.impl in C++ "
        "(STABLE_TORCH_LIBRARY_IMPL(convlab, CPU, m))",
    ),
    (
        r"expected at most \d+ argument|is missing value for argument"
        r"|Expected a value of type '[^']+' for argument",
        "the call and the operator's schema (m.def in C++) have different arguments",
    ),
    (
        r"[Nn]o autograd formula|autograd kernel|does not require grad and does not"
        r"|backward returned None|has no gradient function",
        "autograd has no rule for this operator: write setup_context and backward, "
        "and pass them to `register`",
    ),
    (
        r"has no attribute '\w+'$|Tried to .* but .* not exist|unknown (operator|type)",
        "PyTorch does not know this operator: define its schema with m.def in C++",
    ),
)


def advice(error: BaseException) -> str:
    """What to do about one of PyTorch's own errors; "" if it is none of these."""
    text = str(error)
    return next((words for pattern, words in ADVICE if re.search(pattern, text)), "")


def _share(one: torch.Tensor, other: torch.Tensor | None) -> bool:
    """Whether two tensors lie in the same memory."""
    if other is None or not one.numel():
        return False
    return one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


def _told_the_shape(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same, without its second argument: the last size of the first, in a list."""

    def called_with_shape(input: torch.Tensor, *others: Any, **options: Any) -> Any:
        return function(input, list(input.shape[-1:]), *others, **options)

    return called_with_shape


class PackageTask(Task):
    """The package's function of the operator's name, and its module."""

    def __init__(self, signature: Signature, header: dict[str, Any]) -> None:
        self.signature = signature
        self.rules = Rules(header)
        self.path = f"{header['package']}/convlab_ext"
        self.looked_at_initial = False
        self.rules.close_doors()
        sys.path.insert(0, header["package"])
        package = importlib.import_module("convlab_ext")
        self.function = getattr(package, signature.name)
        if signature.shape_argument:
            self.function = _told_the_shape(self.function)
        self.module = types.ModuleType("modules")

    def call(self, inputs: Tensors, options: dict[str, Any], *, run: int) -> Any:
        """The function or the module; modules are read at their first use."""
        if run & RUN_MODULE and self.signature.module in MODULES:
            self.module = importlib.import_module("convlab_ext.modules")
        found = super().call(inputs, options, run=run)
        for argument, tensor in zip(self.signature.inputs, inputs):
            if isinstance(found, torch.Tensor) and _share(found, tensor):
                raise ContractError(
                    f"the result shares memory with '{argument.name}'. An operator "
                    "returns its own memory unless its schema says otherwise. Make "
                    "the result with empty_like in every case"
                )
        return found

    def telling(self, step: Callable[[], None]) -> Callable[[], None]:
        """The same step; of PyTorch's own errors it tells what to do."""

        def run() -> None:
            try:
                step()
            except Exception as error:
                if not (words := advice(error)):
                    raise
                first = quoted(str(error).strip().split("\n")[0], 200)
                if not isinstance(error, ContractError):
                    first = f"PyTorch says: {first}"
                raise ContractError(f"{words} ({first})") from error

        return run
