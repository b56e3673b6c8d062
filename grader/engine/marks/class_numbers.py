# SPDX-License-Identifier: MIT
"""Counts what a class earned in each task, and what a person should look at.

The corrected item-total correlation of a task compares its points with the points of
all other tasks. If it is near 0 or negative, students who are good elsewhere earn no
more in this task than others. Then look at the task first.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.engine.marks.desk import Record
from grader.engine.marks.total import Item, Total
from grader.verdicts import Verdict

NEEDS_A_PERSON = (Verdict.SUSPECT, Verdict.FORBIDDEN, Verdict.GRADER, Verdict.NOISY)
BINS = ("nothing", "up to 25 %", "up to 50 %", "up to 75 %", "below 100 %", "100 %")
TENTHS = tuple(f"{low} to {low + 10} %" for low in range(0, 100, 10))
FEWEST = 3  # students, for a correlation


@dataclass(frozen=True)
class TaskNumbers:
    """A task, and what each student earned in it."""

    part: str
    name: str
    of: float
    points: tuple[float, ...]  # of each student
    rest: tuple[float, ...]  # of each student, in all other tasks
    missing: int  # students who handed in nothing
    pending: int  # students with pending points

    @property
    def shares(self) -> list[float]:
        """The share of the points that each student earned."""
        return [points / self.of if self.of else 0.0 for points in self.points]

    @property
    def mean(self) -> float:
        """The mean of the shares: the lowest is the hardest task."""
        return statistics.fmean(self.shares)

    @property
    def full(self) -> int:
        """How many earned all points."""
        return self.bins[-1]

    @property
    def correlation(self) -> float | None:
        """Corrected item-total correlation; None if there is nothing to compare."""
        if len(self.points) < FEWEST:
            return None
        try:
            return statistics.correlation(self.points, self.rest)
        except statistics.StatisticsError:  # all have the same points
            return None

    @property
    def bins(self) -> list[int]:
        """How many students are in each of BINS."""
        counts = [0] * len(BINS)
        for share in self.shares:
            counts[_bin(share)] += 1
        return counts


def _bin(share: float) -> int:
    if share <= 0:
        return 0
    if share >= 1:
        return len(BINS) - 1
    return 1 + int(4 * share - 1e-9)


def tasks(totals: Sequence[Total]) -> list[TaskNumbers]:
    """Each task and question that somebody has points for, in the course's order."""
    found = []
    for items in zip(*(one.items for one in totals), strict=True):
        if all(item.missing for item in items):
            continue
        first: Item = items[0]
        rest = [one.points - item.points for one, item in zip(totals, items)]
        found.append(
            TaskNumbers(
                first.part,
                first.name,
                first.of,
                tuple(item.points for item in items),
                tuple(rest),
                sum(item.missing for item in items),
                sum(item.pending > 0 for item in items),
            )
        )
    return found


def tenths(totals: Sequence[Total], of: float) -> list[int]:
    """How many students are in each tenth of the full mark."""
    counts = [0] * len(TENTHS)
    for one in totals:
        at = int(10 * one.points / of + 1e-9) if of else 0
        counts[min(max(at, 0), len(TENTHS) - 1)] += 1
    return counts


@dataclass(frozen=True)
class Mistake:
    """A named mistake, and where it was made."""

    name: str
    students: int
    tasks: tuple[str, ...]


def mistakes(records: Mapping[str, Record]) -> list[Mistake]:
    """The named mistakes, those of most students first."""
    students: dict[str, set[str]] = defaultdict(set)
    places: dict[str, set[str]] = defaultdict(set)
    for student, record in records.items():
        for entry in record.results["tasks"]:
            for rung in entry["rungs"]:
                for name in filter(None, (c.get("mistake") for c in rung["checks"])):
                    students[name].add(student)
                    places[name].add(entry["id"])
    found = [Mistake(m, len(students[m]), tuple(sorted(places[m]))) for m in students]
    return sorted(found, key=lambda one: (-one.students, one.name))


@dataclass(frozen=True)
class Need:
    """A verdict that a person should look at."""

    student: str
    verdict: Verdict
    file: str


def needs(records: Mapping[str, Record]) -> list[Need]:
    """The files with such verdicts."""
    found: dict[Need, None] = {}
    for student, record in records.items():
        for entry in record.results["tasks"]:
            for rung in entry["rungs"]:
                for check in (*rung["checks"], *rung["speed"]):
                    if check["verdict"] in NEEDS_A_PERSON:
                        verdict = Verdict(check["verdict"])
                        found[Need(student, verdict, rung["id"])] = None
    return sorted(
        found, key=lambda one: (NEEDS_A_PERSON.index(one.verdict), one.student)
    )
