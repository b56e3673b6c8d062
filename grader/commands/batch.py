# SPDX-License-Identifier: MIT
"""`make batch COURSE= SUBMISSIONS=`: grade a class, also if something dies on the way;
the same command goes on where it ended. DRY=1 says who would be graded, and who not.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from grader.batch import planning, roster, unpacked
from grader.batch.planning import Job, Refused
from grader.commands import handed_in, said, submission
from grader.commands.submission import Order
from grader.course.foreign import one_line
from grader.course.handed import inbox
from grader.course.handed.renewal import MANIFEST
from grader.course.offered import course_file
from grader.course.tasks import all_tasks
from grader.errors import GraderError
from grader.report import terminal

EXAMPLE = "make batch COURSE=course.toml SUBMISSIONS=inbox/"
ENGINES = ("local",)


def run() -> int:
    """Plan; with DRY=1 that is all."""
    order = submission.order_of(submission.wanted_course(EXAMPLE))
    if not said.text("SUBMISSIONS"):
        raise GraderError(f"say where the submissions are: {EXAMPLE}")
    said.one_of("ENGINE", ENGINES)
    known = roster.read(Path(named)) if (named := said.text("ROSTER")) else {}
    with _inbox(Path(said.text("SUBMISSIONS"))) as folder:
        found = inbox.students(folder, "SUBMISSIONS=")
        taken = partial(handed_in.taken, tree=order.tree, made=order.made)
        for one in planning.planned(found, taken, _grader(order)):
            terminal.say(_line(one if isinstance(one, Refused) else one[0]))
    for who in roster.nothing(known, found):
        terminal.say(f"handed in nothing: {one_line(who)}")
    for who in roster.strange(known, found):
        terminal.say(f"not in ROSTER=: {one_line(who)}")
    return 0


@contextlib.contextmanager
def _inbox(source: Path) -> Iterator[Path]:
    """The folder of the submissions; an archive is unpacked for so long."""
    if not source.is_file():
        yield source
        return
    with tempfile.TemporaryDirectory() as place:
        labs = {task.lab for task in all_tasks()}
        folder, left = unpacked.unpacked(source, Path(place), labs)
        for path in left:
            terminal.say(f"left out of {one_line(source.name)}: {one_line(path)}")
        yield folder


def _grader(order: Order) -> str:
    """What stands for all that gives the verdicts: handout, course, hidden cases."""
    hidden = {name: list(lines) for name, lines in order.wanted.hidden.cases.items()}
    words = course_file.for_grading(order.wanted), json.dumps(hidden, default=str)
    whole = "\0".join((*words, (order.tree / MANIFEST).read_text(encoding="utf-8")))
    return hashlib.sha256(whole.encode()).hexdigest()


def _line(one: Job | Refused) -> str:
    """A student of the plan."""
    if isinstance(one, Refused):
        return f"cannot be graded: {one_line(one.student)}: {one_line(one.why)}"
    tasks = ", ".join(one.laid.written) or "nothing is written"
    return f"to grade: {one_line(one.student)}: {tasks}"
