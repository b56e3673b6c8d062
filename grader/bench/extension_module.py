# SPDX-License-Identifier: MIT
"""Imports convlab_ext as built in labs/05_torch_extension into this process."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

import torch

from grader.errors import GraderError
from grader.toolchain.extension.kernels import LAB


def beside(name: str) -> Any:
    """A package of the lab's folder: "convlab_ext", "nets", "train.layers"."""
    if str(LAB) not in sys.path:
        sys.path.insert(0, str(LAB))
    return importlib.import_module(name)


def loaded(*operators: str) -> ModuleType:
    """The package, with these operators. Raises GraderError if one is not built."""
    try:
        package: ModuleType = beside("convlab_ext")
        for operator in operators:
            getattr(package, operator)
    except (AttributeError, ImportError, OSError) as error:
        raise GraderError(str(error)) from error
    return package


def module(name: str) -> Any:
    """One of its modules: "modules", "aten", "pybind"."""
    loaded()
    return importlib.import_module(f"convlab_ext.{name}")


def has_cuda(operator: str) -> bool:
    """Whether an operator has kernels for a card."""
    return bool(
        torch._C._dispatch_has_kernel_for_dispatch_key(f"convlab::{operator}", "CUDA")
    )
