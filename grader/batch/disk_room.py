# SPDX-License-Identifier: MIT
"""Keeps what a batch writes below a limit, and asks before it starts for enough disk.

Each process that grades has a copy of the class' tree, and builds in it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Collection
from pathlib import Path

from grader.errors import GraderError

MIB = 1 << 20
FILE = 20 * MIB  # built for a file; the 20 files of 03 conv2d took 217 MiB
RESULT = MIB  # results and page of a job, in the queue and on the desk
KEPT = 256 * MIB  # results of jobs that the last run did not have


def size(folder: Path) -> int:
    """Bytes that a folder's files take."""
    whole = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                whole += os.lstat(Path(place) / name).st_blocks * 512
    return whole


def enough(
    folder: Path, shared: Path, *, processes: int, files: int, jobs: int
) -> None:
    """Raises GraderError if the disk cannot hold so many processes and results."""
    needed = processes * (size(shared) + files * FILE) + jobs * RESULT
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise GraderError(
            f"grading needs {needed / MIB:.0f} MiB of disk, and {folder} has "
            f"{free / MIB:.0f} MiB free: make room, or set JOBS= below {processes}"
        )


def forget(results: Path, wanted: Collection[str]) -> None:
    """Delete the oldest results of jobs that are not wanted, above the limit."""
    others = [file for file in results.glob("*.json") if file.stem not in wanted]
    left = KEPT
    for file in sorted(others, key=lambda one: one.stat().st_mtime, reverse=True):
        left -= file.stat().st_size
        if left < 0:
            file.unlink(missing_ok=True)
