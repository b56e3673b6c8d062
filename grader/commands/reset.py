# SPDX-License-Identifier: MIT
"""`make reset T=` brings back a file as handed out, and keeps the student's copy."""

from __future__ import annotations

import os
import sys

from grader.course import rungs
from grader.course.handed import starters
from grader.course.tasks import select
from grader.errors import GraderError
from grader.options import Arguments, Option, T, switch
from grader.report import terminal
from grader.toolchain import given

YES = Option("YES", "1 restores the file without a question", switch)
OPTIONS = (T, YES)


def run(arguments: Arguments) -> int:
    """Ask, keep a copy, put the starters back."""
    if not given.is_handout():
        raise GraderError(
            "make reset works only in a handout. This is the repository: git restore "
            "brings a file back"
        )
    if not arguments[T]:
        raise GraderError("name a file or a task: make reset T=02_naive_c/conv2d/00")
    selection = select(arguments[T])
    handed_out = starters.read(rungs.ROOT)
    files = [
        os.path.relpath(file, rungs.ROOT)
        for task in selection.tasks
        for rung in task.rungs
        if rung.id in selection.rungs
        for file in (rung.file, *rung.also)
    ]
    changed = [n for n in dict.fromkeys(files) if _differs(n, handed_out)]
    if not changed:
        terminal.say("nothing to do: these files are as the handout has them")
        return 0
    for name in changed:
        terminal.say(f"  {name}")
    question = f"Put back {len(changed)} file{'s' * (len(changed) > 1)}? [y/N] "
    if not (arguments[YES] or _agreed(question)):
        terminal.say("nothing was changed")
        return 1
    for name in changed:
        file = rungs.ROOT / name
        copy = starters.keep(rungs.ROOT, name) if file.exists() else ""
        file.write_bytes(handed_out[name])
        kept = f"; your file is kept as {copy}" if copy else ""
        terminal.say(f"{name} is the starter again{kept}")
    return 0


def _differs(name: str, handed_out: dict[str, bytes]) -> bool:
    """Whether a file is the handout's, and changed or gone; a student's own stays."""
    file = rungs.ROOT / name
    return name in handed_out and (
        not file.exists() or file.read_bytes() != handed_out[name]
    )


def _agreed(question: str) -> bool:
    """Raises GraderError where nobody can be asked."""
    if not sys.stdin.isatty():
        raise GraderError(
            "make reset asks before it replaces a file, and there is no terminal; add "
            "YES=1"
        )
    try:
        return input(question).strip().lower() in ("y", "yes")
    except EOFError:  # ^D says no
        terminal.say("")
        return False
