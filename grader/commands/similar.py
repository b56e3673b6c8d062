# SPDX-License-Identifier: MIT
"""`make similar COURSE= SUBMISSIONS=` shows files of two students side by side.

Its page lists the pairs that have most in common. It is evidence for a person, who
reads both files. No points change.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from grader.batch.planning import Refused
from grader.batch.roster import Roster
from grader.commands import batch, submission
from grader.commands.batch import SUBMISSIONS
from grader.commands.submission import Order
from grader.course import rungs
from grader.course.foreign import one_line
from grader.engine import results
from grader.engine.similarity import pairs
from grader.engine.similarity.known_text import Given
from grader.engine.similarity.pairs import Source
from grader.errors import GraderError
from grader.options import Arguments
from grader.report import terminal
from grader.report.marks import similar_page

EXAMPLE = "make similar COURSE=course.toml SUBMISSIONS=inbox/"
MOST, LOWEST = 40, 0.25  # pairs on the page, and the score of the last one
OPTIONS = (*submission.ORDER, SUBMISSIONS)


def run(arguments: Arguments) -> int:
    """Compare, write the page and the table."""
    order = submission.order_of(arguments, EXAMPLE)
    if not arguments[SUBMISSIONS]:
        raise GraderError(f"name the folder of the submissions: {EXAMPLE}")
    students = list(_students(order, Path(arguments[SUBMISSIONS])))
    given = Given(order.tree, rungs.ROOT)
    ranked = pairs.ranked(students, given.of, most=MOST)
    found = [pair for pair in ranked if pair.score >= LOWEST]
    count = len({source.who for source in students})
    written = {
        "similar.html": similar_page.render(found, order.made, students=count),
        "similar.csv": similar_page.table(found),
    }
    folder = order.place / "exports"
    results.make_folder(folder)
    for name, text in written.items():
        file = folder / name
        file.write_text(text, encoding="utf-8", errors="replace", newline="")
        terminal.say(results.near(file))
    return 0


def _students(order: Order, source: Path) -> Iterator[Source]:
    """The files that students wrote for the tasks of the course."""
    for one in batch.plan(order, source, Roster(), timed=False):
        if isinstance(one, Refused):
            who = one_line(", ".join(one.students))
            terminal.say(f"not compared: {who}: {one_line(one.why)}")
            continue
        job, files = one
        places = {
            place
            for task, written in job.laid.written.items()
            for place in written
            if task in order.wanted.offers and pairs.readable(place)
        }
        for place in sorted(places):
            text = files[place].decode("utf-8", "replace")
            yield Source(", ".join(job.students), place, text, pairs.topic_of(place))
