# SPDX-License-Identifier: MIT
"""`make doctor` shows what this machine has, and what its missing tools would do."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata

from ladders import needs
from rich.table import Column

from grader import working
from grader.errors import GraderError
from grader.report.terminal import console, grid_of
from grader.toolchain import gpu_probe, nvcc, sandbox
from grader.toolchain.make import named_compiler, named_cpp, sanitizers_missing

WALL = "student code sees nothing of your files"
FIRST = (  # of what is missing, after what is needed
    *("C++ compiler", "sanitizers", "bubblewrap", "gdb", "addr2line", "ONNX", "clang"),
    "nvcc",
)
ONNX = ("onnx", "onnxscript", "onnxruntime")  # packages


@dataclass(frozen=True)
class Item:
    """One thing to look for."""

    name: str
    found: str  # what there is; "" if nothing
    without: str  # what its absence costs, and how to get it
    needed: bool = False
    install: str = ""  # the command, where one can be named
    gain: str = ""  # what that brings


def _version(command: str, *flags: str) -> str:
    if not shutil.which(command):
        return ""
    try:
        done = subprocess.run(
            [command, *(flags or ("--version",))],
            capture_output=True,
            text=True,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = (done.stdout or done.stderr).strip().splitlines()
    return lines[0] if lines else "found"


def _package(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _landlock() -> str:
    return "yes" if sandbox.has_landlock() else ""


def _bwrap() -> str:
    if sandbox.has_bwrap():
        return _version("bwrap")
    return ""


def _bwrap_install() -> str:
    """Nothing where it is installed and may not work."""
    return "" if shutil.which("bwrap") else "make system-packages"


def _bwrap_cost() -> str:
    weaker = "Landlock" if sandbox.has_landlock() else "the system call filter alone"
    if shutil.which("bwrap"):
        return (
            f"installed, but it cannot make namespaces on this machine; {weaker} is "
            "used instead"
        )
    return f"{weaker} restricts student code instead (make system-packages)"


def _sanitizers() -> str:
    try:
        return "" if sanitizers_missing() else "AddressSanitizer and UBSan"
    except GraderError:
        return ""  # no compiler at all: that has a line of its own


def _card() -> tuple[str, str]:
    """The GPU, and why there is none."""
    found = gpu_probe.card()
    return (found.words if found else "", gpu_probe.absent())


def items() -> list[Item]:
    """Everything that is looked for."""
    with working.on("look for compilers and other tools"):
        return [*_needed(), *_sandbox(), *_finders(), *_compilers(), *_cards()]


def _needed() -> list[Item]:
    """Without these nothing can be graded."""
    compiler, *words = named_compiler().split()
    return [
        Item("Python", sys.version.split()[0], "", needed=True),
        Item("PyTorch", _package("torch"), "nothing can be graded", needed=True),
        Item(
            f"C compiler ({compiler})",
            _version(compiler, *words, "--version"),
            "nothing can be graded (apt-get install build-essential)",
            needed=True,
            install="apt-get install build-essential",
            gain="it compiles labs 02 and 03",
        ),
        Item("make", _version("make"), "nothing can be built", needed=True),
    ]


def _sandbox() -> list[Item]:
    return [
        Item(
            "bubblewrap", _bwrap(), _bwrap_cost(), install=_bwrap_install(), gain=WALL
        ),
        Item("Landlock", _landlock(), "student code can read your files"),
    ]


def _finders() -> list[Item]:
    """What finds where something went wrong."""
    return [
        Item(
            "gdb",
            _version("gdb"),
            "no make debug, no loop indices after a crash (make system-packages)",
            install="make system-packages",
            gain="make debug stops in a failing case",
        ),
        Item(
            "sanitizers",
            _sanitizers(),
            "there is no memory check",
            install="apt-get install gcc",
            gain="reads and writes beyond a tensor are found, with their line",
        ),
        Item(
            "addr2line",
            _version("addr2line"),
            "a crash is reported without its line",
            install="apt-get install binutils",
            gain="a crash is reported with its line",
        ),
    ]


def _compilers() -> list[Item]:
    """More of them, and what lab 05 is built with."""
    kernels = named_cpp().split()[0]
    return [
        Item(
            "clang",
            _version("clang"),
            "there is no second compiler to try (CC=clang)",
            install="make system-packages",
            gain="make grade CC=clang tries a second compiler",
        ),
        Item(
            f"C++ compiler ({kernels})",
            _version(kernels),
            "lab 04 cannot be graded (apt-get install g++)",
            install="apt-get install g++",
            gain="lab 04 can be graded",
        ),
        *_extension(),
        Item(
            "nvcc",
            nvcc.release(),
            "CUDA kernels run on the CPU only: NVIDIA's compiler is missing",
            install="make nvcc",
            gain="kernels are compiled for a GPU, and registers and occupancy are "
            "shown",
        ),
    ]


def _cards() -> list[Item]:
    card, no_card = _card()
    missing = f"speed on a GPU is not measured: {no_card}"
    return [Item("GPU", card, missing), *(_on_card() if card else [])]


def _extension() -> list[Item]:
    """What lab 05 is built with."""
    missing, parts = "", ""
    try:
        needs.verify()
        parts = needs.cuda().sentence
    except GraderError as error:
        missing = str(error)
    onnx = [name for name in ONNX if not _package(name)]
    lacking = f"the gate onnx is skipped: pip install {' '.join(onnx)}"
    return [
        Item("lab 05", parts, f"its extension cannot be built: {missing}"),
        Item(
            "ONNX",
            "" if onnx else ", ".join(ONNX),
            lacking,
            install=f"pip install {' '.join(onnx)}",
            gain="lab 05's operators are exported and run outside of PyTorch",
        ),
    ]


def _on_card() -> list[Item]:
    """What is of use only where there is a card."""
    from grader.checks.cuda import compute_sanitizer  # imports torch

    found = compute_sanitizer.find() and not compute_sanitizer.why_not()
    name = "compute-sanitizer"
    without = f"only cusim checks kernels: {compute_sanitizer.why_not()}"
    return [
        Item(name, compute_sanitizer.find() if found else "", without),
        Item(
            "Nsight Compute",
            _version("ncu"),
            "counts are not compared with the counts of a GPU",
        ),
    ]


def first(found: Sequence[Item]) -> str:
    """The line to end with: what to install first, and what it gains."""
    missing = [item for item in found if not item.found and item.install]
    order = {name: i for i, name in enumerate(FIRST)}

    def rank(item: Item) -> tuple[bool, int]:
        return not item.needed, order.get(item.name.split(" (")[0], len(FIRST))

    if not missing:
        return "Nothing that you can install is missing."
    item = min(missing, key=rank)
    return f"Install first: {item.name}, with {item.install}. Then {item.gain}."


def run() -> int:
    """Print the table. 1 if a thing is missing without which nothing can be graded."""
    grid = grid_of(Column("what", no_wrap=True), "here", "without it")
    bad, looked_for = 0, items()
    for item in looked_for:
        missing = not item.found
        bad += missing and item.needed
        style = "bold red" if missing and item.needed else "yellow" if missing else ""
        here = item.found or ("MISSING" if item.needed else "not here")
        grid.add_row(item.name, here, item.without if missing else "", style=style)
    console.print(grid)
    console.print(f"\nStudent code runs at sandbox level: {sandbox.level()}")
    console.print(first(looked_for), soft_wrap=True)
    return 1 if bad else 0
