# SPDX-License-Identifier: MIT
"""Counts how many hints of a task or a rung were shown: each call shows one more."""

from __future__ import annotations

from pathlib import Path

from grader.course.rungs import Rung, Task
from grader.engine import results
from grader.errors import GraderError


def one_more(about: Task | Rung) -> tuple[str, ...]:
    """The hints seen so far and the next one. Raises GraderError if there are none."""
    if not about.hints:
        raise GraderError(f"{about.id} has no hints")
    results.make_folder(results.folder())
    count = min(seen(about) + 1, len(about.hints))
    _counter(about).write_text(str(count))
    return about.hints[:count]


def seen(about: Task | Rung) -> int:
    """How many of its hints were shown."""
    counter = _counter(about)
    return int(counter.read_text()) if counter.exists() else 0


def _counter(about: Task | Rung) -> Path:
    return results.folder() / f"hints-{about.id.replace('/', '-')}"
