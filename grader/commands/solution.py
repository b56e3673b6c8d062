# SPDX-License-Identifier: MIT
"""`make solution T= KEY=` shows the solution of a task, if the key was given out."""

from __future__ import annotations

from pathlib import Path

from grader.course import rungs
from grader.course.handed import sealed
from grader.course.tasks import select
from grader.errors import GraderError
from grader.options import Arguments, Option, T, text
from grader.report import terminal
from grader.toolchain import given

FOLDER = "solutions"  # beside labs: what is in it is not graded
KEY = Option("KEY", "the key of the task", text)
FROM = Option("FROM", "an archive", text)
OPTIONS = (T, KEY, FROM)


def run(arguments: Arguments) -> int:
    """Unlock it into a folder of its own; no file of labs is touched."""
    if not given.is_handout():
        raise GraderError(
            "make solution works only in a handout: in the repository, labs contains "
            "the solutions"
        )
    wanted, key = arguments[T], arguments[KEY]
    if not wanted:
        raise GraderError("name a task: make solution T=02_naive_c/conv2d KEY=...")
    tasks = select(wanted).tasks
    if len(tasks) != 1:
        names = ", ".join(task.id for task in tasks)
        raise GraderError(f"make solution opens only one task, but T= names: {names}")
    if not key:
        raise GraderError(
            f"the solutions of {tasks[0].id} are locked: your instructor gives out "
            "KEY= after the deadline"
        )
    archive = Path(arguments[FROM] or rungs.ROOT / sealed.ARCHIVE)
    files = sealed.unseal(sealed.block(archive, tasks[0].id), key)
    for name, contents in files.items():
        file = rungs.ROOT / FOLDER / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(contents)
        terminal.say(f"{FOLDER}/{name}")
    terminal.say("compare with your file: diff -u solutions/labs/... labs/...")
    return 0
