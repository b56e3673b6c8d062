# SPDX-License-Identifier: MIT
"""Orders the tasks: every command that names a next task uses this order.

README.md and docs/guides/first_hour.md begin with lab 02. If a student has points in a
lab, that lab comes first. The lab that was just graded comes before it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from grader.course.rungs import Task
from grader.engine.score import TaskResult

FIRST_LAB = "02_naive_c"


def in_turn(
    tasks: Iterable[Task], earned: Mapping[str, float], graded: Collection[str] = ()
) -> list[Task]:
    """The core path before what lies beyond it. Of each first the labs that were just
    `graded`, then labs with points, the lab to begin with, and the others. Within a lab
    as its lab.toml says.
    """
    begun = {name.split("/")[0] for name, points in earned.items() if points}

    def turn(task: Task) -> tuple[bool, ...]:
        lab = lab_of(task)
        first = lab in {FIRST_LAB, *begun}
        return not task.core, lab not in graded, lab not in begun, not first

    return sorted(tasks, key=turn)


def of_results(results: Iterable[TaskResult]) -> list[TaskResult]:
    """The same of what a grading found."""
    found = {result.task.id: result for result in results}
    earned = {name: result.points for name, result in found.items()}
    return [found[t.id] for t in in_turn([r.task for r in found.values()], earned)]


def lab_of(task: Task) -> str:
    """Its lab's folder, 02_naive_c."""
    return task.id.split("/")[0]
