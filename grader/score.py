# SPDX-License-Identifier: MIT
"""Verdicts become points; the exit status follows from them.

Forward and backward each carry half of a task's points, given once: to any file of the
ladder that passes every check of that direction.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from grader.checks.result import CheckResult
from grader.tasks import Rung, Task
from grader.verdicts import Verdict

DIRECTIONS = ("forward", "backward")


@dataclass(frozen=True)
class RungResult:
    """Everything that was found out about one file."""

    rung: Rung
    checks: tuple[CheckResult, ...]
    uses: dict[str, str] = field(default_factory=dict)  # direction -> rung it came from

    def verdict(self, direction: str) -> Verdict | None:
        """The direction's verdict: the first that is not PASS; None if not defined."""
        mine = [c.verdict for c in self.checks if c.direction == direction]
        if not mine:
            return None
        return next((v for v in mine if v is not Verdict.PASS), Verdict.PASS)


@dataclass(frozen=True)
class TaskResult:
    """A ladder's outcome."""

    task: Task
    rungs: tuple[RungResult, ...]
    asked: tuple[str, ...] = DIRECTIONS  # what this run was to find out

    def best(self, direction: str) -> Verdict | None:
        """PASS if any rung passes, else a pending verdict, else the last rung's."""
        verdicts = [v for r in self.rungs if (v := r.verdict(direction)) is not None]
        for wanted in (lambda v: v is Verdict.PASS, lambda v: v.pending):
            found = next((v for v in verdicts if wanted(v)), None)
            if found:
                return found
        return verdicts[-1] if verdicts else None

    @property
    def points(self) -> float:
        """Earned."""
        passed = [d for d in DIRECTIONS if self.best(d) is Verdict.PASS]
        return self.task.points * len(passed) / len(DIRECTIONS)

    @property
    def pending(self) -> float:
        """Neither earned nor lost."""
        waiting = [d for d in DIRECTIONS if (b := self.best(d)) and b.pending]
        return self.task.points * len(waiting) / len(DIRECTIONS)

    @property
    def ok(self) -> bool:
        """Everything that was asked for passed or is pending."""
        found = (self.best(direction) for direction in self.asked)
        return all(verdict is not None and verdict.ok for verdict in found)


def exit_status(results: list[TaskResult]) -> int:
    """0 when everything asked for passed or is pending, else 1."""
    return 0 if all(result.ok for result in results) else 1
