# SPDX-License-Identifier: MIT
"""Counts how many hints of a task or a rung were shown: each call shows one more."""

from __future__ import annotations

from grader.course.rungs import Rung, Task
from grader.engine import results
from grader.errors import GraderError


def one_more(about: Task | Rung) -> tuple[str, ...]:
    """The hints seen so far and the next one. Raises GraderError if there are none."""
    if not about.hints:
        raise GraderError(f"{about.id} has no hints")
    results.make_folder(results.folder())
    counter = results.folder() / f"hints-{about.id.replace('/', '-')}"
    seen = int(counter.read_text()) if counter.exists() else 0
    seen = min(seen + 1, len(about.hints))
    counter.write_text(str(seen))
    return about.hints[:seen]
