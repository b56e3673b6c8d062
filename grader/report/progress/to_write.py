# SPDX-License-Identifier: MIT
"""What to write next, if a grading found nothing to fix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from signatures import DIRECTIONS

from grader.checks.check_result import CheckResult
from grader.course.below import lowest
from grader.course.uses import LEFT, UNPAID, is_uncounted
from grader.engine import plan
from grader.engine.score import RungResult, TaskResult
from grader.verdicts import Verdict

SAID = 3  # files that are not counted, and why


def lines(
    results: Sequence[TaskResult], rung: RungResult, check: CheckResult
) -> list[str]:
    """The file itself that a check found not written, or a lower one that it cannot do
    without; before it the files that are written and not counted, and why.
    """
    wanting = [d for d in DIRECTIONS if rung.verdict(d) is Verdict.NOT_IMPLEMENTED]
    what = f"{check.direction} in " if len(wanting) == 1 else ""
    if check.name == plan.MODULE:  # the function is right
        what = "the constructor of the module in "
    path = check.location or rung.rung.shown
    ladder = next(r.task for r in results if r.task.id == rung.rung.task)
    to_do, said = "write", list(_uncounted(results))[:SAID]
    if LEFT in check.message:
        path = ladder.rungs[0].shown
        to_do = "write, or fix,"  # it may be there, and wrong
        said.append(
            f"{rung.rung.file.name} returns STATUS_UNSUPPORTED for shapes "
            "outside of its idea, and no lower file passes yet."
        )
    lower = lowest(ladder, check.direction) if UNPAID in check.message else None
    if lower and is_uncounted(check.message):
        path, to_do = lower.shown, "write, or fix,"
        what = f"{check.direction} in "
    task = rung.rung.task
    return [*said, f"Next: {to_do} {what}{path}, then run", f"  make grade T={task}"]


def _uncounted(results: Sequence[TaskResult]) -> Iterator[str]:
    """What right files leave to others, so that they are not counted."""
    for rung in [rung for result in results for rung in result.rungs]:
        for check in rung.checks:
            if is_uncounted(check.message):
                yield f"{rung.rung.file.name} {check.message}."
