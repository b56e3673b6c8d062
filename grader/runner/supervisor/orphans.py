# SPDX-License-Identifier: MIT
"""Removes what a killed grading leaves: processes, and folders of unfinished products.

Its workers and compilers usually end with it. There is one exception: it is killed
while one of them starts. bwrap's inner process first waits for the outer one, and only
then asks to end with it. So it waits for ever, and the next grading ends it.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from grader import once
from grader.toolchain.make import OWNER, build_folder

PROC = Path("/proc")


def end() -> None:
    """Kill processes of this user whose owner is gone, and remove what they made."""
    for process in PROC.glob("[0-9]*"):
        if _is_orphan(process):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(process.name), signal.SIGKILL)
    once.sweep(build_folder())


def _is_orphan(process: Path) -> bool:
    """Whether nobody waits any more for a process that a grading has started."""
    mark = f"{OWNER}=".encode()
    try:
        words = (process / "environ").read_bytes().split(b"\0")
    except OSError:  # it has ended, or is another user's
        return False
    owners = [word.removeprefix(mark) for word in words if word.startswith(mark)]
    return bool(owners) and not (PROC / os.fsdecode(owners[0])).exists()
