# SPDX-License-Identifier: MIT
"""Step (a): add and matmul as plain Python functions, bound by pybind11.

    from convlab_ext import pybind

    y = pybind.ahead("add").forward(x, other, alpha=2.0)     # compiled by setup.py
    y = pybind.now("add").forward(x, other, alpha=2.0)       # compiled by this line

Ahead of time means STEPS=pybind python setup.py build_ext --inplace, which makes a
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

LAB = Path(__file__).resolve().parents[1]
ROOT = LAB.parents[1]
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
    """The module, compiled if need be. The compiler takes half a minute, once.

    load() keeps others out with a file `lock` in the build folder. If a build is
    killed, it stays there and the next one waits for ever: delete the folder.
    """
    if not (LAB / "csrc").exists():
        raise ImportError(
            "just in time needs the sources: use convlab_ext in labs/05_torch_extension"
        )
    sys.path[:0] = [
        path
        for path in (str(ROOT), str(ROOT / "common" / "python"))
        if path not in sys.path
    ]
    from torch.utils import cpp_extension

    from grader.engine.answers import known
    from grader.toolchain.extension import kernels as extension
    from grader.toolchain.extension import needs
    from grader.toolchain.make import build_folder

    needs.verify()
    folder = build_folder() / "extension" / "jit" / operator
    folder.mkdir(parents=True, exist_ok=True)
    kernels = extension.kernels(operator, "cpu", known.kernel_links())
    return cpp_extension.load(
        f"convlab_{operator}_now",
        [str(LAB / "csrc" / "pybind" / f"{operator}.cpp"), str(LAB / "csrc/check.cpp")],
        extra_cflags=["-O2", "-g0"],
        extra_include_paths=[str(ROOT / "common")],
        extra_ldflags=[str(kernels.file), "-fopenmp", "-Wl,-Bsymbolic"],
        build_directory=str(folder),
    )


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
