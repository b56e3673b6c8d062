# SPDX-License-Identifier: MIT
"""Verdicts become points; the exit status follows from them.

Forward and backward each carry half of a task's points for being right, given once: to
any file of the ladder that passes every check of that direction. The rest is for speed
(bands.py): the fastest right file of a direction earns it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from signatures import DIRECTIONS

from grader.checks.check_result import CheckResult
from grader.checks.speed.estimate import Speed
from grader.course.rungs import Rung, Task
from grader.verdicts import Verdict


def shown_points(value: float) -> str:
    """Points as people write them."""
    return f"{round(value, 2):g}"


@dataclass(frozen=True)
class Since:
    """When an answer was found that holds still."""

    date: str
    seed: int


@dataclass(frozen=True)
class RungResult:
    """Everything that was found out about one file."""

    rung: Rung
    checks: tuple[CheckResult, ...]
    uses: dict[str, str] = field(default_factory=dict)  # direction -> rung it came from
    speeds: tuple[Speed, ...] = ()
    nvcc: dict[str, Any] | None = None  # lab 04: what NVIDIA's compiler said
    since: Since | None = None  # an answer from before; None: of this run

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
        """PASS if any rung passes, else a pending verdict, else the last rung's.

        A rung that only a GPU can run counts if there is no other.
        """
        here = [r for r in self.rungs if not r.rung.needs] or self.rungs
        verdicts = [v for r in here if (v := r.verdict(direction)) is not None]
        for wanted in (lambda v: v is Verdict.PASS, lambda v: v.pending):
            found = next((v for v in verdicts if wanted(v)), None)
            if found:
                return found
        return verdicts[-1] if verdicts else None

    def speed(self, direction: str) -> Speed | None:
        """The timed file of a direction; the best one, should there be several."""
        found = [
            s
            for rung in self.rungs
            for s in rung.speeds
            if s.direction == direction and s.band
            if rung.verdict(direction) is Verdict.PASS
        ]
        return max(found, key=lambda s: s.earned, default=None)

    def _parts(self, direction: str) -> tuple[float, float]:
        """Points earned and pending in a direction."""
        best = self.best(direction)
        verdict = "" if best is None else "pending" if best.pending else str(best)
        speed = self.speed(direction)
        timed = None if speed is None else (str(speed.verdict), speed.earned)
        return parts(self.task, direction, verdict, timed)

    @property
    def points(self) -> float:
        """Earned."""
        return sum(self._parts(direction)[0] for direction in DIRECTIONS)

    @property
    def pending(self) -> float:
        """Neither earned nor lost."""
        return sum(self._parts(direction)[1] for direction in DIRECTIONS)

    @property
    def ok(self) -> bool:
        """Everything that was asked for passed or is pending."""
        found = (self.best(direction) for direction in self.asked)
        return all(verdict is not None and verdict.ok for verdict in found)


def parts(
    task: Task, direction: str, verdict: str, timed: tuple[str, float] | None
) -> tuple[float, float]:
    """Points earned and pending in a direction of a task.

    `verdict` is PASS, pending, or anything else; `timed` the verdict of the stopwatch
    and the share of the speed points it found, None if it did not run.
    """
    speed = task.speed.points_of(direction) if task.speed else 0.0
    right = (task.points - (task.speed.points if task.speed else 0)) / len(DIRECTIONS)
    if verdict == "pending":
        return 0.0, right + speed
    if verdict != "PASS":
        return 0.0, 0.0
    if timed is None or Verdict(timed[0]).pending:
        return right, speed
    return right + speed * timed[1], 0.0


def exit_status(results: list[TaskResult]) -> int:
    """0 when everything asked for passed or is pending, else 1."""
    return 0 if all(result.ok for result in results) else 1
