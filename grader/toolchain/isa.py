# SPDX-License-Identifier: MIT
"""ISA=avx2: our code and PyTorch use no wider vectors than a processor with AVX2 has.

`make` sets the variables (common/isa.mk); each library reads its own when it is first
used. A worker starts with an environment of its own and is told them from here.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path

TOLD = (
    "ISA",
    "ATEN_CPU_CAPABILITY",  # PyTorch's own kernels
    "ONEDNN_MAX_CPU_ISA",
    "MKL_ENABLE_INSTRUCTIONS",
)


def environment() -> dict[str, str]:
    """What a process that compiles or imports torch has to be told."""
    return {name: os.environ[name] for name in TOLD if os.environ.get(name)}


def name() -> str:
    """The widest vectors in use here, as reports name them: avx512, avx2, or what the
    machine is called.
    """
    if held := os.environ.get("ISA"):
        return held
    try:
        words = set(Path("/proc/cpuinfo").read_text().split())
    except OSError:
        words = set()
    wide = {"avx512": "avx512f", "avx2": "avx2"}
    found = (name for name, flag in wide.items() if flag in words)
    return next(found, platform.machine())


def processor() -> str:
    """The processor's name."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
