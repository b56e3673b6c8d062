# SPDX-License-Identifier: MIT
"""Loads the one operator of an exhibit of lab 05.

A copy is convlab_ext/__init__.py in the exhibit's package. Beside it lie one library,
_silu.abi3.so, and the module of its rules, silu.py.
"""

from __future__ import annotations

import importlib
from pathlib import Path

import torch

NAMESPACE = "convlab"

for _library in Path(__file__).parent.glob("_*.abi3.so"):
    torch.ops.load_library(_library)
    _name = _library.name.removeprefix("_").removesuffix(".abi3.so")
    _rules = importlib.import_module(f"{__name__}.{_name}")
    _rules.rules(NAMESPACE)
    globals()[_name] = getattr(_rules, _name)
