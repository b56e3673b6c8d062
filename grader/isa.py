# SPDX-License-Identifier: MIT
"""ISA=avx2: our code and PyTorch use no wider vectors than a processor with AVX2 has.

common/isa.mk holds what is compiled here. PyTorch and its libraries choose their code
when they run; each has a variable of its own for that, read when it is first used.
"""

from __future__ import annotations

import os

ENVIRONMENT = "ISA"
AVX2 = "avx2"
HELD = {
    AVX2: {
        "ATEN_CPU_CAPABILITY": "avx2",  # PyTorch's own kernels
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    }
}


def environment() -> dict[str, str]:
    """What a process that imports torch, or compiles, is told; {} if nothing is held.
    An unknown ISA is left to common/isa.mk, which refuses it.
    """
    name = os.environ.get(ENVIRONMENT, "")
    return {ENVIRONMENT: name, **HELD[name]} if name in HELD else {}


def hold() -> None:
    """Hold this process. Before the first use of torch."""
    os.environ.update(environment())
