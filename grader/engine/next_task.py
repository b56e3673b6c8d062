# SPDX-License-Identifier: MIT
"""Orders the tasks: every command that names a next task uses this order.

README.md and docs/guides/first_hour.md begin with lab 02. If a student has points in a
lab, that lab comes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from grader.course.rungs import Task
from grader.engine.score import TaskResult

FIRST_LAB = "02_naive_c"


def in_turn(tasks: Iterable[Task], earned: Mapping[str, float]) -> list[Task]:
    """The core path before what lies beyond it; of each first the labs with points,
    then the lab to begin with, then the others; within a lab as its lab.toml says.
    """
    begun = {_lab(name) for name, points in earned.items() if points}

    def turn(task: Task) -> tuple[bool, bool, bool]:
        lab = _lab(task.id)
        return not task.core, lab not in begun, lab not in {FIRST_LAB, *begun}

    return sorted(tasks, key=turn)


def of_results(results: Iterable[TaskResult]) -> list[TaskResult]:
    """The same of what a grading found."""
    found = {result.task.id: result for result in results}
    earned = {name: result.points for name, result in found.items()}
    return [found[t.id] for t in in_turn([r.task for r in found.values()], earned)]


def _lab(task: str) -> str:
    return task.split("/")[0]
