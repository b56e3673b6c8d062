# SPDX-License-Identifier: MIT
"""Refuses a processor that cannot run the kernels of a wheel, before they are loaded.

A wheel has a small library that knows the processor, csrc/level.c. A build in the lab's
folder has none: its kernels are compiled for the processor of this machine.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

LIBRARY = Path(__file__).with_name("_cpu_level.so")


def verify() -> None:
    """Raises ImportError if this processor runs no kernel of the wheel."""
    if LIBRARY.exists() and not ctypes.CDLL(str(LIBRARY)).convlab_level():
        raise ImportError(
            "the kernels of this convlab_ext need a processor with x86-64-v3 (AVX2, "
            "FMA and BMI2), but this processor lacks some of it. Build convlab_ext for "
            "this processor: make build LAB=05 in the repository of convlab"
        )
