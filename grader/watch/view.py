# SPDX-License-Identifier: MIT
"""Defines what a person sees in `make watch`; screen.py draws it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from grader.checks.check_result import CheckResult
from grader.course.exhibits import PARTS
from grader.course.rungs import Rung, Task
from grader.engine.next_task import in_turn
from grader.engine.score import RungResult, shown_points
from grader.verdicts import Verdict

LIST, HINTS, HELP = "list", "hints", "help"  # panels in place of the checks

Verdicts = Mapping[str, Verdict | None]  # direction -> the last one


@dataclass
class View:
    """The file that is worked on, and how the others stand."""

    tasks: tuple[Task, ...]
    rungs: tuple[Rung, ...]
    at: int = 0
    verdicts: dict[str, Verdicts] = field(default_factory=dict)  # rung -> its own
    checks: list[CheckResult] = field(default_factory=list)  # of the file, so far
    result: RungResult | None = None  # once all of them are there
    step: str = "importing PyTorch"  # what is being done; "" is nothing
    since: float = field(default_factory=time.monotonic)
    took: float = 0.0  # seconds, of the last grading
    gradings: int = 0  # that have ended
    points: str = ""
    notice: str = ""  # a sentence about something else than the file's checks
    panel: str = ""
    hints: tuple[str, ...] = ()

    @property
    def rung(self) -> Rung:
        """The file that is worked on."""
        return self.rungs[self.at]

    @property
    def task(self) -> Task:
        """Its ladder."""
        return next(task for task in self.tasks if task.id == self.rung.task)

    @property
    def hinted(self) -> Rung | Task:
        """What has hints: the file itself, or else its ladder."""
        return self.rung if self.rung.hints else self.task

    @property
    def more_hints(self) -> bool:
        """Whether there are some that have not been shown."""
        return len(self.hints) < len(self.hinted.hints)

    def standing(self, earned: Mapping[str, float]) -> str:
        """The points of what is watched: of its core path, if it has a part of that."""
        tasks = [t for t in self.tasks if t.core] or self.tasks
        points = sum(earned.get(task.id, 0.0) for task in tasks)
        of = sum(task.points for task in tasks)
        return f", {shown_points(points)} of {shown_points(of)} points"

    def to(self, at: int) -> None:
        """Work on another file."""
        self.at = at % len(self.rungs)
        self.checks, self.result, self.notice = [], None, ""
        self.hints = ()

    def begin(self, step: str) -> None:
        """Something new is being done."""
        self.step, self.since = step, time.monotonic()

    def hear(self, checks: Iterable[CheckResult]) -> None:
        """Answers about the file, each in the place of an earlier one."""
        by_kind = {(c.name, c.direction, c.dtype): c for c in self.checks}
        by_kind |= {(c.name, c.direction, c.dtype): c for c in checks}
        self.checks = list(by_kind.values())

    def learn(self, found: RungResult) -> None:
        """All answers about a file."""
        name = found.rung.id
        self.verdicts[name] = {part: found.verdict(part) for part in PARTS}
        if name == self.rung.id:
            self.checks, self.result = list(found.checks), found

    def is_right(self, rung: Rung) -> bool | None:
        """Whether every direction that a file defines passes, and of an exhibit the
        case; None: nobody knows."""
        verdicts = [v for v in self.verdicts.get(rung.id, {}).values() if v]
        return all(v is Verdict.PASS for v in verdicts) if verdicts else None

    def right(self) -> int:
        """How many files are."""
        return sum(self.is_right(rung) is True for rung in self.rungs)

    def first_to_do(self, earned: Mapping[str, float]) -> int:
        """The first file that is not known to be right, tasks in turn."""
        for task in in_turn(self.tasks, earned):
            for at, rung in enumerate(self.rungs):
                if rung.task == task.id and not self.is_right(rung):
                    return at
        return 0

    def after(self, tasks: tuple[Task, ...], rungs: tuple[Rung, ...]) -> View:
        """The same after files came or went; the file that is worked on stays."""
        ids = [rung.id for rung in rungs]
        here = self.rung.id
        at = ids.index(here) if here in ids else min(self.at, len(ids) - 1)
        now = replace(self, tasks=tasks, rungs=rungs, at=at)
        if here not in ids:
            now.to(at)
        return now
