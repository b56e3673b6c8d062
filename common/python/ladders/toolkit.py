# SPDX-License-Identifier: MIT
"""Finds NVIDIA's compiler nvcc, and the header and the library that belong to it."""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Toolkit:
    """The parts of CUDA that a build needs."""

    nvcc: Path
    include: Path  # the folder of cuda_runtime.h
    runtime: Path  # libcudart.so

    @property
    def linked(self) -> str:
        """What a linker is told."""
        return f"{self.runtime} -Wl,-rpath,{self.runtime.parent}"

    @property
    def seen(self) -> list[Path]:
        """What the compiler's sandbox has to show beside the system."""
        root = self.nvcc.resolve().parents[1]
        return [] if root.is_relative_to("/usr") else [root]


@functools.cache
def find() -> str:
    """nvcc's path: NVCC, PATH, CUDA's usual place, or the package nvidia-cuda-nvcc."""
    named = os.environ.get("NVCC", "").strip()
    if named:
        return shutil.which(named) or ""
    usual = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    return usual or next(packaged(), "")


def packaged() -> Iterator[str]:
    """Those that pip has installed: `make nvcc`."""
    found = importlib.util.find_spec("nvidia")
    for folder in (found.submodule_search_locations or ()) if found else ():
        for path in sorted(Path(folder).glob("*/bin/nvcc")):
            yield str(path)


def toolkit() -> Toolkit | None:
    """nvcc and what belongs to it; None if a part is missing."""
    found = find()
    if not found:
        return None
    root = Path(found).resolve().parents[1]
    runtimes = [
        file
        for name in ("lib64", "lib", "targets/*/lib")
        for folder in sorted(root.glob(name))
        for file in sorted(folder.resolve().glob("libcudart.so*"))
    ]
    include = root / "include"
    if not runtimes or not (include / "cuda_runtime.h").exists():
        return None
    return Toolkit(Path(found), include, runtimes[0])
