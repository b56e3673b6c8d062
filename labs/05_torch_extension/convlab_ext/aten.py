# SPDX-License-Identifier: MIT
"""Step (b): two of the operators, bound by PyTorch's own C++ headers: convlab_aten.

    from convlab_ext import aten

    aten.add(x, y, 1.0)                  # loads _add_aten.so at first use
    torch.ops.convlab_aten.add(x, y, 1.0)    # there from then on

The kernels are those of convlab_ext, and so are the rules, which are Python and take
the name of a namespace. Nothing is loaded before it is asked for: a library of step (b)
fits only the PyTorch it was compiled with, and another one may not even load it.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import torch

from convlab_ext.direct import switch

HERE = Path(__file__).resolve().parent
NAMESPACE = "convlab_aten"
OPERATORS = ("add", "conv2d")  # the others would differ in the same five places

_loaded: set[str] = set()


def __getattr__(name: str) -> Any:
    """torch.ops.convlab_aten.NAME, loaded. Raises AttributeError if it cannot be."""
    if name not in OPERATORS:
        raise AttributeError(f"module 'convlab_ext.aten' has no attribute {name!r}")
    load(name)
    return getattr(getattr(torch.ops, NAMESPACE), name)


def load(operator: str) -> None:
    """Load an operator's library and register its rules, once."""
    if operator in _loaded:
        return
    file = HERE / f"_{operator}_aten.so"
    if not file.exists():
        raise AttributeError(
            f"convlab_ext.aten.{operator} is not built: in labs/05_torch_extension, "
            f"STEPS=aten OPERATORS={operator} python setup.py build_ext --inplace"
        )
    try:
        torch.ops.load_library(file)
    except OSError as error:
        raise AttributeError(
            f"{file.name} does not fit torch {torch.__version__} ({error}): step (b) "
            "works only with the version that it was compiled with. Build it again, "
            f"or use step (c), convlab_ext.{operator}"
        ) from error
    importlib.import_module(f"convlab_ext.{operator}").rules(NAMESPACE)
    switch(on=switch())  # as in the libraries before it
    _loaded.add(operator)
