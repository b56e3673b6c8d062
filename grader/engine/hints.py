# SPDX-License-Identifier: MIT
"""How many of a task's hints were shown: each time one more."""

from __future__ import annotations

from grader.course.rungs import Task
from grader.engine import results
from grader.errors import GraderError


def one_more(task: Task) -> tuple[str, ...]:
    """The hints seen so far and the next one. Raises GraderError if there are none."""
    if not task.hints:
        raise GraderError(f"{task.id} has no hints")
    results.make_folder(results.folder())
    counter = results.folder() / f"hints-{task.id.replace('/', '-')}"
    seen = int(counter.read_text()) if counter.exists() else 0
    seen = min(seen + 1, len(task.hints))
    counter.write_text(str(seen))
    return task.hints[:seen]
