# SPDX-License-Identifier: MIT
"""Compiles a few lines of C and calls them with tensors, to show memory in a notebook.

    c = convlab.compile_c('''
        #include "tensor.h"
        double first(const tensor_t *t) { return ((float *)t->data)[0]; }
    ''')
    c.first(torch.ones(3))

Functions take tensors as ``const tensor_t *`` or ``tensor_t *``, ints as ``int64_t``
and floats as ``double``; they return ``double``, ``int64_t`` or nothing. Nothing is
checked and nothing is copied: C reads and writes the tensor's memory.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
import subprocess
import textwrap
from collections.abc import Callable
from typing import Any

import torch

from convlab._load_error import LoadError
from convlab._native import binding, c_compiler, python_folder
from grader import once
from grader.course.rungs import ROOT

FLAGS = ("-std=c11", "-O1", "-g", "-fPIC", "-shared", "-Wall", "-Icommon")
DEADLINE = 60.0  # seconds
DTYPES = ("f16", "bf16", "f32", "f64", "i32", "i64")  # dtype_t of tensor.h
_FUNCTION = re.compile(r"^(double|int64_t|void) (\w+)\(", re.MULTILINE)
_RETURNS = {"double": ctypes.c_double, "int64_t": ctypes.c_int64, "void": None}


class View:
    """The tensor_t that C is given for a tensor."""

    def __init__(self, tensor: torch.Tensor) -> None:
        made = binding().View(tensor.detach())
        self.data: int = made.data  # an address
        self.size: tuple[int, ...] = tuple(made.size)
        self.stride: tuple[int, ...] = tuple(made.stride)
        self.dtype: str = DTYPES[made.dtype]

    def __repr__(self) -> str:
        axes = f"size {_braces(self.size)}, stride {_braces(self.stride)}"
        return (
            f"tensor_t: data {self.data:#x}, dtype {self.dtype}, "
            f"ndim {len(self.size)}, {axes}"
        )


def view(tensor: torch.Tensor) -> View:
    """A tensor as C sees it: an address, sizes, strides. Nothing is copied."""
    return View(tensor)


def _braces(numbers: tuple[int, ...]) -> str:
    return "{" + ", ".join(map(str, numbers)) + "}"


class Snippet:
    """Functions in C as methods."""

    def __init__(self, library: ctypes.CDLL, returns: dict[str, Any]) -> None:
        for name, kind in returns.items():
            setattr(self, name, _callable(library[name], kind))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """A name that the code has no function for."""
        raise AttributeError(f"the C code has no function '{name}'")


def _callable(function: Any, kind: Any) -> Any:
    function.restype = kind

    def run(*arguments: Any) -> Any:
        views = [
            binding().View(a.detach()) if isinstance(a, torch.Tensor) else None
            for a in arguments
        ]
        given = [
            ctypes.c_void_p(v.address) if v else _number(a)
            for v, a in zip(views, arguments)
        ]
        return function(*given)

    return run


def _number(value: Any) -> Any:
    if isinstance(value, int):
        return ctypes.c_int64(value)
    if isinstance(value, float):
        return ctypes.c_double(value)
    raise TypeError(f"expected a tensor, an int or a float, got {value!r}")


def compile_c(source: str) -> Snippet:
    """Compile C and return its functions. Raises LoadError with the first error."""
    text = textwrap.dedent(source).lstrip("\n")
    returns = {name: _RETURNS[kind] for kind, name in _FUNCTION.findall(text)}
    if not returns:
        raise LoadError(
            "no function was found: a function must begin in column 0 and return "
            "double, int64_t or void"
        )
    compiler = c_compiler()
    stem = hashlib.sha256(f"{compiler}{FLAGS}{text}".encode()).hexdigest()[:20]
    folder = python_folder() / "snippets"
    file, library = folder / f"{stem}.c", folder / f"{stem}.so"
    with once.placed(library) as new:
        file.write_text(text)
        command = [*compiler.split(), *FLAGS, "-o", str(new), str(file), "-lm"]
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE
        )
        if done.returncode:
            raise LoadError(done.stderr.replace(str(file), "snippet.c").strip())
    return Snippet(ctypes.CDLL(str(library)), returns)
