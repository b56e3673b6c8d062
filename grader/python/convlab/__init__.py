# SPDX-License-Identifier: MIT
"""Gives Python the operators of this course.

``load`` makes any rung a differentiable PyTorch function. ``check`` compares your
function with the grader's right answers. ``operators()`` lists the ten operators. For
the notebooks: ``compile_c`` makes a few lines of C callable, ``count_cuda`` runs a few
lines of CUDA C and counts what they move, ``view`` shows a tensor as C sees it,
``compare`` answers an exercise, ``pictures`` draws.

If a function needs PyTorch, PyTorch is imported when the function is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from convlab._check import Report, check
    from convlab._count_cuda import Counted, count_cuda
    from convlab._exercise import compare, excerpt
    from convlab._listing import operators
    from convlab._load import Loaded, load
    from convlab._load_error import LoadError
    from convlab._snippet import compile_c, view

__all__ = [
    "Counted",
    "LoadError",
    "Loaded",
    "Report",
    "check",
    "compare",
    "compile_c",
    "count_cuda",
    "excerpt",
    "load",
    "operators",
    "view",
]

_HOME = {
    "Counted": "convlab._count_cuda",
    "LoadError": "convlab._load_error",
    "Loaded": "convlab._load",
    "Report": "convlab._check",
    "check": "convlab._check",
    "compare": "convlab._exercise",
    "compile_c": "convlab._snippet",
    "count_cuda": "convlab._count_cuda",
    "excerpt": "convlab._exercise",
    "load": "convlab._load",
    "operators": "convlab._listing",
    "view": "convlab._snippet",
}


def __getattr__(name: str) -> Any:
    """What is not there yet, from the module that has it."""
    if name == "pictures":
        return importlib.import_module("convlab.pictures")
    if name not in _HOME:
        raise AttributeError(f"convlab has no {name!r} (it has: {', '.join(__all__)})")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "pictures"])
