# SPDX-License-Identifier: MIT
"""Says which function to write next, if a grading found nothing to fix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from signatures import DIRECTIONS

from grader.checks.check_result import CheckResult
from grader.engine import plan
from grader.engine.score import RungResult, TaskResult
from grader.verdicts import Verdict

SAID = 3  # files that are not counted, and why
FULL_MARKS = (
    "All points of {} are earned. Its other files give no more points: each one shows "
    "another idea, which its first lines name."
)


def lines(
    results: Sequence[TaskResult], rung: RungResult, check: CheckResult
) -> list[str]:
    """The file that a check found not written; before it the files that cover less than
    they say.
    """
    wanting = [d for d in DIRECTIONS if rung.verdict(d) is Verdict.NOT_IMPLEMENTED]
    what = f"{check.direction} in " if len(wanting) == 1 else ""
    if check.name == plan.MODULE:  # the function is right
        what = "the constructor of the module in "
    path = check.location or rung.rung.shown
    said = list(_covers_too_little(results))[:SAID]
    task = rung.rung.task
    if any(t.task.id == task and t.points >= t.task.points for t in results):
        said.append(FULL_MARKS.format(task))
    return [*said, f"Next: write {what}{path}, then run", f"  make grade T={task}"]


def _covers_too_little(results: Sequence[TaskResult]) -> Iterator[str]:
    """What files do not cover that are right otherwise."""
    for rung in [rung for result in results for rung in result.rungs]:
        for check in rung.checks:
            if check.of and check.verdict is Verdict.NOT_IMPLEMENTED:
                yield f"{rung.rung.file.name} {check.message}."
