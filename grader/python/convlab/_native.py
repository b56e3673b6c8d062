# SPDX-License-Identifier: MIT
"""Loads the binding and the shared objects of a rung into this process.

make decides what is out of date. It uses binding.mk for the extension module, and
common/rung.mk (through grader.toolchain) for a rung. The system never loads the same
file name twice. So a rung's shared object is copied before it is loaded, under a name
made from its contents. An edited rung gets a new name.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.machinery
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import threading
from pathlib import Path
from types import ModuleType

from convlab._load_error import LoadError
from grader import once
from grader.course.rungs import ROOT, Rung
from grader.engine.answers.earlier_links import build
from grader.errors import GraderError
from grader.runner import programs
from grader.toolchain.linking import WITH_GIVEN
from grader.toolchain.make import build_folder, compiler, reason
from grader.toolchain.products import Build

MAKEFILE = "grader/python/convlab/binding.mk"
DEADLINE = 300.0  # seconds for the extension module; it takes ten

_EXPLAINED = {
    "Python.h": "Python's own headers are missing: install them (on Debian: apt-get "
    "install python3-dev)",
    "pybind11/pybind11.h": "the package pybind11 has no headers: install it again",
}


def python_folder() -> Path:
    """Where things are built that this Python loads."""
    return build_folder() / "python" / (sys.implementation.cache_tag or "python")


# ---- the binding ---------------------------------------------------------------------


_turn = threading.Lock()  # threads of this process; flock is for the others


def binding() -> ModuleType:
    """The extension module, built if need be. Raises LoadError with the reason."""
    with _turn:
        return _binding()


@functools.cache
def _binding() -> ModuleType:
    folder = python_folder()
    with once.alone(folder / "_binding.so"):
        _make_binding(folder)
    path = str(folder / "_binding.so")
    loader = importlib.machinery.ExtensionFileLoader("convlab._binding", path)
    spec = importlib.util.spec_from_file_location("convlab._binding", path)
    assert spec
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def device() -> int:
    """The address of the function that calls a rung in CUDA. Raises LoadError."""
    folder = python_folder()
    runtime = programs.runtime_of(programs.WORKER)[0]
    with once.alone(folder / "_binding.so"):
        _make_binding(folder, f"CUSIM={runtime}", str(folder / "device.so"))
    return function_in(folder / "device.so", "on_device")


def _make_binding(folder: Path, *goals: str) -> None:
    c, cpp = c_compiler(), os.environ.get("CXX", "").strip() or "c++"
    if not shutil.which(cpp.split()[0]):
        raise LoadError(
            f"there is no C++ compiler ('{cpp}'), but convlab.load needs one. Install "
            "one (on Debian: apt-get install build-essential) or name one with CXX="
        )
    found = importlib.util.find_spec("pybind11")
    if not found or not found.origin:
        raise LoadError(
            "convlab.load needs the package pybind11: install it "
            "(requirements/requirements.txt)"
        )
    headers = (sysconfig.get_path("include"), Path(found.origin).parent / "include")
    includes = " ".join(f"-isystem {path}" for path in headers)
    arguments = ["make", "-s", "-f", MAKEFILE, f"OUT={folder}", f"INCLUDES={includes}"]
    arguments += goals
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    environment.update(LC_ALL="C", CC=c, CXX=cpp)
    done = subprocess.run(
        arguments,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )
    if done.returncode:
        raise LoadError(
            f"cannot build the binding of convlab.load: {_reason(done.stderr)}"
        )


def _reason(text: str) -> str:
    for name, sentence in _EXPLAINED.items():
        if f"{name}: No such file" in text:
            return sentence
    return reason(text)


def c_compiler() -> str:
    try:
        return compiler()
    except GraderError as error:
        raise LoadError(str(error)) from None


# ---- rungs ---------------------------------------------------------------------------


def build_rung(rung: Rung) -> Build:
    """A rung in C, compiled if its file has changed. Raises LoadError if that fails."""
    try:
        built = build(rung, walk=WITH_GIVEN)
    except GraderError as error:
        raise LoadError(str(error)) from None
    if built.forbidden:
        raise LoadError(f"{rung.shown} {built.forbidden}")
    if built.blocked:
        raise LoadError(f"{rung.shown}: {built.blocked}")
    if built.error:
        raise LoadError(f"{built.location or rung.shown}: {built.error}")
    return built


def function_in(library: Path, symbol: str) -> int:
    """The address of a function in a shared object as it is now."""
    contents = library.read_bytes()
    digest = hashlib.sha256(contents).hexdigest()[:20]
    copy = python_folder() / "rungs" / f"{digest}.so"
    if not copy.exists():
        with once.placed(copy) as new:
            new.write_bytes(contents)
    find = binding().find
    try:
        return int(find(str(copy), symbol))
    except RuntimeError as error:
        raise LoadError(f"{library.name} cannot be loaded: {error}") from None
