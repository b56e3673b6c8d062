# SPDX-License-Identifier: MIT
"""Runs a command and ends every process that it has started: reaper.py COMMAND ...

If a process leaves its parent, it becomes a child of this one. So no process outlives
it. bubblewrap does the same by a namespace; this program is for machines without it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36


def main(command: list[str]) -> int:
    """The command's exit status, as a shell tells it."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGTERM, stop)
    child = os.fork()
    if not child:
        os.execvp(command[0], command)
    try:
        while True:
            number, status = os.wait()
            if number == child:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code
    finally:
        end_all()


def stop(*_: object) -> None:
    """Its caller wants it to end."""
    raise SystemExit(128 + signal.SIGTERM)


def end_all() -> None:
    """Kill children until there are none: theirs become this process's."""
    file = Path(f"/proc/self/task/{os.getpid()}/children")
    while numbers := [int(number) for number in file.read_text().split()]:
        for number in numbers:
            os.kill(number, signal.SIGKILL)
        for number in numbers:
            os.waitpid(number, 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
