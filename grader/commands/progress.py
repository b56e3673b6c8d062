# SPDX-License-Identifier: MIT
"""`make progress` shows points by lab and over time, and the next step.

It grades nothing.
"""

from __future__ import annotations

from grader.course.tasks import offered_tasks
from grader.engine import merge, results
from grader.engine.answers.history import moments
from grader.engine.answers.ledger import NAME, Ledger
from grader.errors import GraderError
from grader.report import terminal
from grader.report.progress import standing
from grader.report.progress.next_step import next_step


def run() -> int:
    """Show it, and write the page."""
    tasks, whole = offered_tasks(), results.read()
    history = []
    if (results.folder() / NAME).exists():
        with Ledger(results.folder(), write=False) as ledger:
            history = list(moments(ledger, tasks))
    step = next_step(whole, tasks)
    standing.show(merge.standing(whole), tasks, history, step)
    terminal.remarks(merge.stale_words(whole) if whole else [])
    if history:
        try:
            page = standing.write(history, step)
        except GraderError as error:  # no jinja2: what was shown stands without it
            terminal.complain(str(error))
        else:
            terminal.say(f"  pictures: {results.near(page)}")
    return 0
