# SPDX-License-Identifier: MIT
"""Counts how often each instruction of a rung runs in one call, with callgrind.

The counts are exact and the same on every machine. But they are not times: valgrind
does not model caches here. It also does not know AVX-512, so a build for AVX2 is
counted.
"""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from grader import working
from grader.errors import GraderError

DEADLINE = 300.0  # seconds: a call takes about fifty times as long


def available() -> bool:
    """Whether valgrind is there."""
    return shutil.which("valgrind") is not None


def counted(command: Sequence[str], library: Path, folder: Path) -> Counter[int]:
    """Address of an instruction in the library -> how often. Raises GraderError."""
    out = folder / "callgrind.out"
    valgrind = ["valgrind", "-q", "--tool=callgrind", "--dump-instr=yes"]
    valgrind += ["--compress-pos=no", "--compress-strings=no"]
    valgrind += [f"--callgrind-out-file={out}", *command]
    try:
        with working.on("count instructions with valgrind"):
            done = subprocess.run(
                valgrind, capture_output=True, text=True, timeout=DEADLINE
            )
    except subprocess.TimeoutExpired as error:
        raise GraderError(
            f"valgrind did not end within {DEADLINE:.0f} s: profile a faster file"
        ) from error
    if done.returncode or not out.exists():
        reason = (done.stderr.strip().splitlines() or ["no reason told"])[-1]
        raise GraderError(f"valgrind could not run the call: {reason}")
    return _of_library(out.read_text(errors="replace"), str(library))


def _of_library(text: str, library: str) -> Counter[int]:
    found: Counter[int] = Counter()
    inside = skip = False
    for line in text.splitlines():
        if line.startswith("ob="):
            inside = line[3:] == library
        elif line.startswith("calls="):
            skip = True  # the next line is what the call cost altogether
        elif line.startswith("0x"):
            if inside and not skip:
                at, _, count = line.split()[:3]
                found[int(at, 16)] += int(count)
            skip = False
    return found
