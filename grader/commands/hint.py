# SPDX-License-Identifier: MIT
"""`make hint` shows hints: each call shows one more, with more detail."""

from __future__ import annotations

from grader.course.tasks import select
from grader.engine.hints import one_more
from grader.errors import GraderError
from grader.options import Arguments, T
from grader.report import terminal

OPTIONS = (T,)


def run(arguments: Arguments) -> int:
    """Print the hints seen so far and the next one, of a task or of one rung."""
    wanted = arguments[T]
    if not wanted:
        raise GraderError("name a task: make hint T=02_naive_c/conv2d")
    selection = select(wanted)
    task = selection.tasks[0]
    if len(selection.tasks) > 1:
        listed = ", ".join(one.id for one in selection.tasks)
        raise GraderError(f"{wanted} names several tasks; choose one: {listed}")
    named = [rung for rung in task.rungs if rung.id in selection.rungs and rung.hints]
    alone = len(selection.rungs) == 1 and named
    if task.is_hunt and not alone:
        listed = ", ".join(rung.id for rung in named)
        raise GraderError(f"name one file of the bug hunt: {listed}")
    about = named[0] if alone else task
    for number, text in enumerate(one_more(about), start=1):
        terminal.say(f"hint {number} of {len(about.hints)}: {text}")
    if named and not alone:
        first, *others = (rung.id for rung in named)
        more = ", ".join(name.rsplit("/", 1)[1] for name in others)
        also = f" (also {more})" if more else ""
        terminal.say(f"hints about one file: make hint T={first}{also}")
    return 0
