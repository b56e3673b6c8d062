# SPDX-License-Identifier: MIT
"""`make editor` writes compile_commands.json, so that clangd can read the labs'
sources.

C is compiled as in rung.mk, CUDA with cusim's headers, lab 05's C++ with PyTorch's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ladders import needs

from grader.course import rungs
from grader.course.rungs import Rung, Task
from grader.course.tasks import all_tasks
from grader.report import terminal

FILE = "compile_commands.json"
WARN = ("-Wall", "-Wextra", "-Wno-unused-parameter", "-Wno-unknown-pragmas")
C = (
    *("clang", "-std=c11", "-fopenmp", "-fno-math-errno", "-ffp-contract=fast"),
    *("-Icommon", "-DREAL_F32", *WARN),
)
CUDA = (
    *("clang", "-x", "cuda", "--cuda-host-only", "-nocudainc", "-nocudalib"),
    *("-Wno-unknown-cuda-version", "-Xclang", "-fcuda-allow-variadic-functions"),
    *("-std=c++17", "-D__NVCC__=1", "-D__CUDACC__=1", "-D__CUDA_ARCH__=800"),
    *("-isystem", "common/cusim/include", "-include", "common/cusim/editor.h"),
    *("-Icommon", "-DREAL_F32", "-Wall", "-Wno-unused", "-Wno-unknown-pragmas"),
)
CPP = ("clang++", "-std=c++20", "-Icommon", *WARN)
STABLE = "-DTORCH_TARGET_VERSION=0x020b000000000000"  # as setup.py has it


def run() -> int:
    """Write it at the root, where clangd looks."""
    found = entries(all_tasks())
    file = rungs.ROOT / FILE
    file.write_text(json.dumps(found, indent=1), encoding="utf-8")
    terminal.say(
        f"{FILE} tells how to read {len(found)} files; an editor with clangd (VS Code: "
        "the extension clangd) finds it by itself"
    )
    return 0


def entries(tasks: Sequence[Task]) -> list[dict[str, Any]]:
    """One for each file that clangd can read."""
    found = [
        _entry(rung.file, [*words, *rung.flags])
        for task in tasks
        for rung in task.rungs
        if (words := _words(rung))
    ]
    return found + list(_extension())


def _words(rung: Rung) -> list[str]:
    """Nothing for Python, for a file of lab 05, and where cusim has no headers."""
    if rung.step or rung.needs:
        return []
    if rung.file.suffix == ".c":
        return [*C, "-march=native"]
    return [*CUDA] if rung.file.suffix == ".cu" else []


def _extension() -> Iterator[dict[str, Any]]:
    """The C++ of lab 05."""
    sources = sorted((rungs.ROOT / "labs").glob("05_*/csrc/**/*.cpp"))
    words = [
        w for path in needs.cpp_extension().include_paths() for w in ("-isystem", path)
    ]
    for file in sources:
        stable = [STABLE] if file.parent.name == "stable" else []
        yield _entry(file, [*CPP, *stable, *words])


def _entry(file: Path, words: Sequence[str]) -> dict[str, Any]:
    name = str(file.relative_to(rungs.ROOT))
    return {
        "directory": str(rungs.ROOT),
        "file": name,
        "arguments": [*words, "-c", name],
    }
