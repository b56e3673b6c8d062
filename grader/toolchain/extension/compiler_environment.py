# SPDX-License-Identifier: MIT
"""Lists the environment variables of processes in which torch.compile compiles."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from grader.toolchain import isa


def compiler_environment(temporary: Path, cache: Path) -> dict[str, str]:
    """The variables, with one thread for each library. torch.compile keeps its code in
    `cache`.
    """
    named = os.environ.get("CXX")
    return {
        "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(temporary),
        "USER": "nobody",
        "LOGNAME": "nobody",
        "TMPDIR": str(temporary),
        "LC_ALL": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        "TORCHINDUCTOR_CACHE_DIR": str(cache),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        # the code is small: no vectors to try out, and one header for all of it,
        # which is there already (precompiled.py)
        "TORCHINDUCTOR_VEC_ISA_OK": "0",
        "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0",
        # graphs are small: to know them again would mean to read all of torch
        "TORCHINDUCTOR_FX_GRAPH_CACHE": "0",
        "TORCHINDUCTOR_AUTOGRAD_CACHE": "0",
        **isa.environment(),
        **({"CXX": named} if named else {}),
    }
