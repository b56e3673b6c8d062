# SPDX-License-Identifier: MIT
"""convlab's own tests: folders mirror what they test; programs and data stand apart.

`python -m tests.proofs.stress` and its like are run from the repository's root, also by
a Python that was not installed for it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TypeVar

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "tests" / "programs"
WHOLE = os.environ.get("WHOLE", "") not in ("", "0")  # make test WHOLE=1: no samples
LEVELS = {"avx2": "-march=x86-64-v3", "avx512": "-march=x86-64-v4"}
NATIVE = LEVELS.get(os.environ.get("ISA", ""), "-march=native")
T = TypeVar("T")
ALL_RIGHT = SimpleNamespace(is_right=lambda *_: True)  # a judge for Links

sys.path[:0] = [str(ROOT / name) for name in ("", "common/python", "grader/python")]


def some(items: Iterable[T], *, every: int) -> list[T]:
    """One of so many that are alike, the same ones in every run; with WHOLE=1 all."""
    return list(items)[:: 1 if WHOLE else every]


def put(file: Path, text: str = "") -> Path:
    """A file with this text, and the folders it lies in."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def put_rung(place: Path, file: str, text: str) -> Path:
    """A rung with this text in another place, and beside it what its ladder shares."""
    for header in (ROOT / file).parent.glob("*.h"):
        put((place / file).parent / header.name, header.read_text())
    return put(place / file, text)


def output_of(
    command: Sequence[str | Path],
    *,
    seconds: float,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> str:
    """What a command writes that has to end well within so many seconds."""
    done = subprocess.run(
        command, cwd=cwd, env=env, capture_output=True, text=True, timeout=seconds
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
