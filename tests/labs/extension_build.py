# SPDX-License-Identifier: MIT
"""More of lab 05 for tests: other steps, with CUDA; one test process at a time."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.labs.extension import FOLDER, LAB


@contextmanager
def alone() -> Iterator[None]:
    """Nobody else makes kernels in the ordinary build folder."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER.parent / "tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def environment() -> dict[str, str]:
    """This one, but with the ordinary build folder, where kernels are compiled."""
    return {k: v for k, v in os.environ.items() if k != "CONVLAB_BUILD"}


def build(folder: Path, **chosen: str) -> str:
    """setup.py with these words (STEPS, OPERATORS, CUDA); returns what it said."""
    command = [sys.executable, "setup.py", "build", f"--build-lib={folder}"]
    command.append(f"--build-temp={folder}.{chosen.get('STEPS', 'objects')}")
    with alone():
        done = subprocess.run(
            command,
            cwd=LAB,
            env=environment() | {"LEVELS": "native"} | chosen,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=900,
        )
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout
