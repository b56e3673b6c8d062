# SPDX-License-Identifier: MIT
"""Defines what a grading reports about its progress, while it is still running.

The bar of progress counts checks and builds. The plan says how many a rung has. A rung
that fails has fewer. Checks beside the plan do not count. So the last check of a rung
counts when the rung ends.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from signatures import DIRECTIONS

from grader.course.rungs import Rung
from grader.engine import plan

if TYPE_CHECKING:  # imports the tasks
    from grader.engine.score import TaskResult


GATES = {"forward": 7, "backward": 6}  # of lab 05: checks/gates/contract.py


@dataclass(frozen=True)
class GradingStep:
    """A step that begins, or a task whose checks have ended."""

    rung: str
    check: str
    done: int  # files
    total: int
    ended: TaskResult | None = None  # without times: those are taken last
    checks: int = 0  # that have begun
    all_checks: int = 0


def count_checks(rung: Rung) -> int:
    """The build, each check of both directions, and an exhibit's case."""
    count = 2 if rung.exhibit else 1
    if rung.needs:
        return count  # nothing but a GPU can check it
    for direction in DIRECTIONS:
        for question in plan.questions(rung, direction):
            if question.name == plan.GATES:
                count += GATES[direction]
            else:
                count += len(question.dtypes) if question.name == plan.NUMBERS else 1
    return count


class ChecksBegun:
    """Of the rungs that are graded."""

    def __init__(self, rungs: Iterable[Rung]) -> None:
        self._all = {rung.id: count_checks(rung) for rung in rungs}
        self._begun: dict[str, set[str]] = defaultdict(set)  # rung -> checks
        self._ended: set[str] = set()

    @property
    def total(self) -> int:
        """All checks."""
        return sum(self._all.values())

    @property
    def count(self) -> int:
        """The checks that have begun, and all of the rungs that have ended."""
        return sum(map(self._count, self._all))

    def _count(self, rung: str) -> int:
        most = self._all[rung]
        return most if rung in self._ended else min(len(self._begun[rung]), most - 1)

    def begin(self, rung: str, check: str) -> None:
        """A check of a rung begins."""
        self._begun[rung].add(check)

    def end(self, rung: str) -> None:
        """A rung is decided."""
        self._ended.add(rung)
