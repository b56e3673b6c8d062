# SPDX-License-Identifier: MIT
"""Computes the key of an answer: the same key means the same question.

A rung's own part is its file, the headers beside it and its words in lab.toml. This
machine's part is the grader, common/, compilers, PyTorch, sandbox and instruction set.
If a rung is linked with other rungs, their keys and whether they passed count too. No
part is a time or a seed.

The bytes of a file count, not the output of the preprocessor. To run the preprocessor
for every rung and dtype takes longer than a grading without changes may take. Also, if
a line has moved, a report must not give its old number.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

from grader.course import rungs
from grader.course.rungs import Rung
from grader.runner.supervisor import cores
from grader.toolchain import given, gpu_probe, isa, nvcc, sandbox
from grader.toolchain.make import first_line, named_compiler, named_cpp

SOURCES = {".py", ".c", ".h", ".cpp", ".cu", ".mk", ".toml", ".json"}
# these tell and time what was found; a verdict does not depend on them
TELLING = ("report", "bench", "commands", "python")
TOLD = ("CC", "CXX", "NVCC", "CUDA", "CONVLAB_SANDBOX", "CI", *isa.TOLD)
PACKAGES = ("torch", "numpy", "setuptools")


def digest(*parts: object) -> str:
    """A short name for some values."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def of_files(files: Iterable[Path], root: Path) -> str:
    """A name for the names and contents of files."""
    made = hashlib.sha256()
    for file in sorted(files):
        data = file.read_bytes()
        made.update(f"{file.relative_to(root)}\0{len(data)}\0".encode() + data)
    return made.hexdigest()[:32]


@functools.cache
def of_sources(root: Path) -> str:
    """The grader and what it shares with rungs. Read once in a process: it has loaded
    its own code.
    """
    grader, common = root / "grader", root / "common"
    ours = [f for f in grader.rglob("*") if f.suffix in SOURCES]
    ours = [f for f in ours if f.relative_to(grader).parts[0] not in TELLING]
    ours += [f for f in common.rglob("*") if f.suffix in SOURCES]
    return of_files(ours, root)


@functools.cache
def of_machine() -> str:
    """What rungs are built with, run by and compared with."""
    versions = [version(package) for package in PACKAGES]
    named = named_compiler(), named_cpp()
    compilers = [first_line([*name.split(), "--version"]) for name in named]
    card = gpu_probe.card()
    return digest(
        versions,
        compilers,
        platform.python_version(),
        platform.libc_ver(),
        sandbox.level(),
        isa.name(),
        nvcc.release(),
        card.words if card else "",
        [os.environ.get(name, "") for name in TOLD],
    )


def version(package: str) -> str | None:
    """Of an installed package; None if it is not there."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def content(rung: Rung) -> str:
    """A rung alone: its file, its lab.toml, and what every rung depends on."""
    said: tuple[Any, ...] = (
        rung.flags,
        [(use.alias, use.target) for use in rung.uses],
        rung.numerics,
        *rung.numerics_for,
        sorted(rung.covers.items()),
        rung.traffic,
        rung.architectures,
        rung.needs,
        rung.dtypes,
        rung.step,
    )
    parts = [rung.id, rung.sha256, said, of_sources(rungs.ROOT), of_machine()]
    parts.append(of_files(rung.headers, rung.file.parent))
    if rung.exhibit:
        asked = rung.exhibit.elements, rung.exhibit.gates
        parts.append((*asked, given.broken(rung).sha256))
    if rung.step:  # its build reads the other operators' files too
        lab = rungs.ROOT / "labs" / rung.task.split("/")[0]
        files = [f for d in ("csrc", "convlab_ext") for f in (lab / d).rglob("*")]
        files = [f for f in files if f.suffix in SOURCES and f.is_file()]
        parts.append(of_files([*files, lab / "setup.py", lab / "lab.toml"], lab))
    return digest(*parts)


def of_given(operator: str) -> str:
    """The given object of an operator, or what it would be made of."""
    folder = rungs.ROOT / "given" / given.arch()
    if given.is_handout() or folder.exists():
        return of_files(folder.glob(f"{operator}.*"), rungs.ROOT)
    plain = rungs.ROOT / "labs" / given.LAB / operator
    return of_files(plain.glob("*.c"), rungs.ROOT)


def machine() -> str:
    """What times depend on beside the answer itself."""
    return digest(platform.node(), isa.processor(), os.cpu_count(), cores.given())
