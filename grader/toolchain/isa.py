# SPDX-License-Identifier: MIT
"""Limits vector widths by ISA=avx2 or avx512, in our code and in PyTorch.

`make` sets the variables (common/isa.mk) and refuses a level that the processor lacks.
Each library reads its variable when it is first used. A worker starts with a new
environment, so this module sets them there again.
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

WIDE = {"avx512": "avx512f", "avx2": "avx2"}  # level -> the processor's word for it
OWN_KERNELS = "PyTorch's own kernels"
CPUINFO = Path("/proc/cpuinfo")


def held() -> str:
    """What ISA= allows at most; "" for all that the machine has."""
    return os.environ.get("ISA", "")


def suffix() -> str:
    """What names of measured tables end in: _avx2, or "" for all that there is."""
    return f"_{held()}" if held() else ""


def environment() -> dict[str, str]:
    """What a process that compiles or imports torch has to be told."""
    return {name: os.environ[name] for name in TOLD if os.environ.get(name)}


def name() -> str:
    """The widest vectors in use here, as reports name them: avx512, avx2, or what the
    machine is called.
    """
    if held():
        return held()
    found = (name for name, flag in WIDE.items() if flag in _words())
    return next(found, platform.machine())


def lacking() -> list[str]:
    """The levels of ISA= that this machine cannot run, and so cannot measure."""
    return [name for name, flag in WIDE.items() if flag not in _words()]


def not_held(capability: str) -> list[str]:
    """Parts of PyTorch that may use wider vectors than ISA= allows; `capability` is
    torch.backends.cpu.get_cpu_capability().
    """
    if not held():
        return []
    found = [] if capability.lower() == held() else [OWN_KERNELS]
    if not os.environ.get("ONEDNN_MAX_CPU_ISA"):
        found.append("oneDNN")
    if not ("GenuineIntel" in _words() and os.environ.get("MKL_ENABLE_INSTRUCTIONS")):
        found.append("MKL")  # on others' processors it chooses for itself
    return found


def _words() -> set[str]:
    """All words that the kernel says of the processor."""
    try:
        return set(CPUINFO.read_text().split())
    except OSError:
        return set()


def processor() -> str:
    """The processor's name."""
    if CPUINFO.exists():
        for line in CPUINFO.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
