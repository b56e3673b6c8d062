# SPDX-License-Identifier: MIT
"""`python -m grader batch_worker FROM=folder`: one of the processes that grade a class.
It ends with the process that started it, and puts its job back.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from grader.batch import class_tree, worker
from grader.batch.queue import Queue, owner
from grader.course.offered.course_file import Course
from grader.engine.marks import hand_in
from grader.errors import GraderError
from grader.options import Arguments, Option, number, switch, text
from grader.toolchain import make

LEASE_SECONDS = 60
_PR_SET_PDEATHSIG = 1
FROM = Option("FROM", "the folder of the jobs", text)
LEASE = Option(
    "LEASE",
    "seconds until another process takes over the job of a silent process",
    number(1, 3600),
)
OWN_DISK = Option("OWN_DISK", "1 grades in the machine's temporary folder", switch)
TIMED = Option(
    "TIMED", "1 also measures speed: a task of Slurm gets a whole node", switch
)
OPTIONS = (FROM, LEASE, OWN_DISK, TIMED)


def run(arguments: Arguments) -> int:
    """Take jobs until each has a result."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    make.compiler()  # a machine without one takes no job
    folder = Path(arguments[FROM])
    shared = folder / class_tree.NAME
    made = class_tree.course_of(shared)
    made = replace(made, speed=made.speed and arguments[TIMED])

    def grade(files: Path, room: Path) -> dict[str, Any]:
        return _graded(shared, files, room, made)

    lease = arguments[LEASE] or LEASE_SECONDS
    with Queue(folder, lease=lease) as queue, tempfile.TemporaryDirectory() as own:
        place = Path(own) if arguments[OWN_DISK] else rooms(folder)
        worker.work(queue, grade, place / owner(os.getpid()))
    return 0


def rooms(folder: Path) -> Path:
    """Where each process has a folder of its own."""
    return folder / "rooms"


def _graded(shared: Path, files: Path, room: Path, made: Course) -> dict[str, Any]:
    """Lay files over the starters of a clean tree, and grade it there."""
    tree, build = class_tree.copied(shared, room)
    shutil.copytree(files, tree, dirs_exist_ok=True)
    try:
        found, page = hand_in.outcome(tree, build, made)
    except hand_in.Ended as error:
        raise worker.Again(str(error)) from error
    except GraderError as error:
        return {"why": str(error)}
    return {"results": found, "page": page}
