# SPDX-License-Identifier: MIT
"""Step (a): add and matmul as plain Python functions, bound by pybind11.

    from convlab_ext import pybind

    y = pybind.ahead("add").forward(x, other, alpha=2.0)     # compiled by setup.py
    y = pybind.now("add").forward(x, other, alpha=2.0)       # compiled by this line

Ahead of time means `make step STEPS=pybind`, which runs setup.py and makes a
module that is imported like any other. Just in time means that
torch.utils.cpp_extension.load runs the compiler when the program asks for the function,
and again when a source has changed; it suits an experiment. For the processor alone:
with CUDA, build ahead of time.

    python -m convlab_ext.pybind matmul     compile it now, and check it
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import torch

from convlab_ext import just_in_time

OPERATORS = ("add", "matmul")


def ahead(operator: str) -> Any:
    """The module that setup.py has built. Raises ImportError with what to do."""
    try:
        return importlib.import_module(f"convlab_ext._{operator}_pybind")
    except ModuleNotFoundError as error:
        raise ImportError(
            f"{operator} of step (a) is not built: in labs/05_torch_extension, "
            f"STEPS=pybind OPERATORS={operator} python setup.py build_ext --inplace"
        ) from error


def now(operator: str) -> Any:
    """The module, compiled if need be. The compiler takes half a minute, once."""
    return just_in_time.compiled("pybind", operator)


def check(module: Any, operator: str) -> None:
    """Compare forward and backward with PyTorch. Raises AssertionError."""
    shapes = {"add": ((4, 1, 5), (3, 1)), "matmul": ((2, 3, 4), (2, 4, 5))}[operator]
    draw = torch.Generator().manual_seed(0)
    for dtype in (torch.float32, torch.float64):
        tensors = [
            torch.randn(s, generator=draw, dtype=dtype, requires_grad=True)
            for s in shapes
        ]
        options: dict[str, Any] = {"alpha": 0.5} if operator == "add" else {}
        expected = getattr(torch, operator)(*tensors, **options)
        torch.testing.assert_close(module.forward(*tensors, **options), expected)
        grad = torch.randn(expected.shape, generator=draw, dtype=dtype)
        wanted = torch.autograd.grad(expected, tensors, grad)
        others = [*shapes, 0.5] if operator == "add" else tensors
        torch.testing.assert_close(module.backward(grad, *others), wanted)


def main() -> None:
    """Compile and check the operators named on the command line."""
    for operator in sys.argv[1:] or OPERATORS:
        module = now(operator)
        check(module, operator)
        print(f"{operator}: {Path(module.__file__).name} agrees with PyTorch")


if __name__ == "__main__":
    main()
