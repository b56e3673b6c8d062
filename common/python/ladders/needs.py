# SPDX-License-Identifier: MIT
"""Checks whether lab 05 can be built here, and with CUDA or without.

setup.py calls it before it builds. A sentence names the two versions that do not fit,
and what to do. It replaces the compiler errors that would follow.
"""

from __future__ import annotations

import importlib.metadata
import logging
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from ladders import Refusal, toolkit

SETUPTOOLS = 77  # torch 2.15's own requirement


@dataclass(frozen=True)
class Cuda:
    """Whether and how the CUDA parts are built."""

    sentence: str
    include: list[str] = field(default_factory=list)
    link: list[str] = field(default_factory=list)
    built: bool = False


def verify() -> None:
    """Raises Refusal for the first tool that is missing or too old.

    What pip installed beside this Python is found without an activated environment.
    """
    beside = str(Path(sys.executable).parent)
    if beside not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", ""), beside])
    name = os.environ.get("CXX", "").strip() or "c++"
    if not shutil.which(name.split()[0]):
        raise Refusal(
            f"torch's headers need a C++ compiler, but there is no '{name}'. Install "
            "one (on Debian: apt-get install build-essential) or name one with CXX="
        )
    needs = f"torch {_version_of('torch')} needs {SETUPTOOLS} or newer"
    remedy = f"pip install 'setuptools>={SETUPTOOLS}'"
    version = _version_of("setuptools")
    if not version:
        raise Refusal(f"setuptools is missing, but {needs}: {remedy}")
    if int(version.split(".")[0]) < SETUPTOOLS:
        raise Refusal(f"setuptools is {version}, but {needs}: {remedy}")
    if not shutil.which("ninja"):
        raise Refusal(
            "there is no ninja, so torch would compile all files every time, one after "
            "the other. Install it with pip install ninja"
        )


def cpp_extension() -> ModuleType:
    """torch.utils.cpp_extension. With an nvcc but no card it logs a warning when it is
    imported; a student need not read this.
    """
    logging.getLogger("torch.utils.cpp_extension").setLevel(logging.ERROR)
    from torch.utils import cpp_extension

    return cpp_extension


def cuda() -> Cuda:
    """What torch, nvcc and the machine allow, and what CUDA=0 or CUDA=1 asks for.

    Raises Refusal if CUDA=1 asks for what cannot be had.
    """
    asked = os.environ.get("CUDA", "").strip()
    if asked not in ("", "0", "1"):
        raise Refusal(
            f"CUDA={asked}: expected 0, 1 or nothing (nothing means: with CUDA if "
            "there is a GPU)"
        )
    if asked == "0":
        return Cuda("built without CUDA, because CUDA=0 is set")
    import torch

    if not asked and not torch.cuda.is_available():
        return Cuda(
            "built without CUDA: PyTorch finds no GPU here (CUDA=1 builds it all the "
            "same)"
        )
    theirs = torch.version.cuda
    reason = _mismatch(theirs) if theirs else _without()
    if reason and asked == "1":
        raise Refusal(f"CUDA=1, but {reason}")
    kit = toolkit.toolkit()
    if reason or kit is None:
        return Cuda(f"built without CUDA: {reason}")
    folders = [f"-L{path}" for path in cpp_extension().library_paths()]
    return Cuda(
        f"built with CUDA: nvcc {_release(kit.nvcc)}, torch's CUDA {theirs}",
        [str(kit.include)],
        [*folders, "-ltorch_cuda", "-lc10_cuda", str(kit.runtime)],
        built=True,
    )


def _without() -> str:
    """That this torch has no CUDA."""
    import torch

    return (
        f"torch {torch.__version__} was built without CUDA. PyPI's wheel has CUDA, and "
        "needs no GPU: pip install --force-reinstall torch"
    )


def _mismatch(theirs: str) -> str:
    """Why no nvcc here fits torch's CUDA, e.g. 13.2; "" if one does, which find() of
    toolkit.py gives from now on: the usual one, or that of `make nvcc`.
    """
    usual = toolkit.find()
    if not usual:
        named = os.environ.get("NVCC", "").strip()
        where = f"NVCC={named} is not a program" if named else "there is no nvcc"
        return (
            f"{where} and torch has CUDA {theirs}: `make nvcc` installs an nvcc from "
            "PyPI"
        )
    major = theirs.split(".")[0]
    releases = {path: _release(Path(path)) for path in [usual, *toolkit.packaged()]}
    fitting = [path for path in releases if releases[path].split(".")[0] == major]
    if not fitting:
        return (
            f"nvcc is {releases[usual]} and torch was built with CUDA {theirs}. The "
            f"first numbers must be equal: install CUDA {major}, or run `make nvcc`"
        )
    if fitting[0] != usual:
        os.environ["NVCC"] = fitting[0]
        toolkit.find.cache_clear()
    if toolkit.toolkit() is None:
        return (
            f"{fitting[0]} exists, but its cuda_runtime.h or libcudart.so is missing. "
            f"torch's CUDA {theirs} needs both: install all of CUDA {major}"
        )
    return ""


def _version_of(package: str) -> str:
    """A package's version; "" if it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _release(program: Path) -> str:
    """13.0 of nvcc."""
    try:
        done = subprocess.run(
            [str(program), "--version"], capture_output=True, text=True, timeout=60
        )
    except OSError as error:
        return f"unknown ({error.strerror})"
    found = re.search(r"release (\d+\.\d+)", done.stdout)
    return found[1] if found else "unknown"
