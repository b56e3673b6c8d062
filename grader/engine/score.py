# SPDX-License-Identifier: MIT
"""Defines what a grading found about a file, a task and the course, and its points.

The engine makes these records, as_json.py writes them to results.json, and every report
reads them. The exit status follows from them too.

Forward and backward each carry half of a task's points for being right. These points
count once, for the cases that the right files of the ladder cover together. The rest is
for speed (bands.py): the fastest right file of a direction earns it. In a ladder of
views (tensor_view.h) each function has the same share of the points. In a bug hunt each
file counts alone: half for the repair, half for the case.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from signatures import DIRECTIONS

from grader.checks.check_result import CheckResult
from grader.checks.speed.estimate import Speed
from grader.course.exhibits import CASE_CHECK
from grader.course.foreign import THE_LINE
from grader.course.rungs import Rung, Task
from grader.toolchain.nvcc import Compiled
from grader.verdicts import Verdict

MOST = 1 / 3  # of a direction's points for being right, for one family of cases


def _left(checks: list[CheckResult], family: str) -> set[str]:
    """What a file leaves of a family of cases, in one of its checks or more."""
    return {name for check in checks for name in check.left.get(family, ())}


def _rank(verdict: Verdict) -> int:
    """0 for what passed, then what is pending, what is wrong, what is not written."""
    if verdict is Verdict.PASS:
        return 0
    if verdict is Verdict.NOT_IMPLEMENTED:
        return 3
    return 1 if verdict.pending else 2


def shown_points(value: float) -> str:
    """Points as people write them."""
    return f"{round(value, 2):g}"


@dataclass(frozen=True)
class Since:
    """When an answer was found that holds still."""

    date: str  # "" where results.json does not say
    seed: int


@dataclass(frozen=True)
class GradedRung(Rung):
    """A file as it was graded; by now it may be another one, or gone."""

    name: str = ""
    digest: str = ""

    @property
    def id(self) -> str:
        """As it was then."""
        return self.name

    @property
    def shown(self) -> str:
        """As it was then."""
        return str(self.file)

    @property
    def sha256(self) -> str:
        """As it was then."""
        return self.digest


@dataclass(frozen=True)
class RungResult:
    """Everything that was found out about one file."""

    rung: Rung
    checks: tuple[CheckResult, ...]
    uses: Mapping[str, str] = field(default_factory=dict)  # direction or alias -> rung
    speeds: tuple[Speed, ...] = ()
    nvcc: Compiled | None = None  # lab 04: what NVIDIA's compiler said
    since: Since | None = None  # an answer from before; None: of this run
    gates: Mapping[str, str] = field(default_factory=dict)  # lab 05: gate -> verdict

    def __post_init__(self) -> None:
        """A place outside of the rung's own files is not told, nor the line there."""
        checks = tuple(self._placed(check) for check in self.checks)
        object.__setattr__(self, "checks", checks)

    def _placed(self, check: CheckResult) -> CheckResult:
        if check.location is None or self.rung.holds(check.location):
            return check
        message = check.message.split(THE_LINE)[0]
        return replace(check, location=None, message=message)

    def verdict(self, direction: str) -> Verdict | None:
        """The direction's verdict: the first that is not PASS; None if not defined."""
        mine = [c.verdict for c in self.checks if c.direction == direction]
        if not mine:
            return None
        return next((v for v in mine if v is not Verdict.PASS), Verdict.PASS)

    def covered(self, direction: str) -> str:
        """61 of 75 cases; "" for a file that covers everything or is not right."""
        found = [c for c in self.checks if c.direction == direction and c.of]
        if not found or self.verdict(direction) is not Verdict.PASS:
            return ""
        return f"{found[0].cases} of {found[0].of} cases"

    @property
    def repair(self) -> Verdict | None:
        """Of an exhibit: PASS if all its directions are right; None if not asked. What
        is wrong comes before what is pending.
        """
        found = [v for d in DIRECTIONS if (v := self.verdict(d)) is not None]
        return min(found, key=lambda v: (v is Verdict.PASS, v.pending), default=None)

    def halves(self, worth: float) -> list[tuple[float, float]]:
        """Points earned and pending of an exhibit: of its repair, of its case."""
        half = worth / 2
        made = []
        for verdict in (self.repair, self.verdict(CASE_CHECK)):
            waits = verdict is not None and verdict.pending
            right = verdict is Verdict.PASS
            made.append((half if right else 0.0, half if waits else 0.0))
        return made

    def with_commands(self, seed: int) -> RungResult:
        """Each failing check with the command that shows its case again."""
        return replace(
            self, checks=tuple(self._with_command(c, seed) for c in self.checks)
        )

    def _with_command(self, check: CheckResult, seed: int) -> CheckResult:
        case = check.replay
        if not case or case.startswith("make "):
            return check
        nothing_to_stop_in = check.verdict is Verdict.NOT_IMPLEMENTED
        if nothing_to_stop_in or (self.rung.exhibit and self.rung.step):
            return replace(check, replay=None)
        in_float = " DTYPE=f32" if check.dtype == "f32" else ""
        command = f"make debug T={self.rung.id} CASE={case} SEED={seed}{in_float}"
        return replace(check, replay=command)

    def over(self, before: RungResult, asked: tuple[str, ...] = ()) -> RungResult:
        """The same with what an older result says of the other directions: of those
        that this one has no checks of, and that were not `asked`.
        """
        seen = {check.direction for check in self.checks} | set(asked)
        rest = tuple(c for c in before.checks if c.direction not in seen)
        speeds = self.speeds + before.speeds
        return replace(self, checks=self.checks + rest, speeds=speeds)


@dataclass(frozen=True)
class TaskResult:
    """A ladder's outcome."""

    task: Task
    rungs: tuple[RungResult, ...]
    asked: tuple[str, ...] = DIRECTIONS  # what this run was to find out
    seed: int | None = None  # of the last run that looked at it
    # points and pending, if results.json says
    recorded: tuple[float, float] | None = None

    def best(self, direction: str) -> Verdict | None:
        """PASS if any rung passes, else a pending verdict, else the last rung's.

        A rung that only a GPU can run counts if there is no other.
        """
        if self.task.functions:
            return self._of_functions() if direction in self.task.directions else None
        here = [r for r in self.rungs if not r.rung.needs] or self.rungs
        verdicts = [v for r in here if (v := r.verdict(direction)) is not None]
        for wanted in (lambda v: v is Verdict.PASS, lambda v: v.pending):
            found = next((v for v in verdicts if wanted(v)), None)
            if found:
                return found
        return verdicts[-1] if verdicts else None

    def of_function(self, name: str) -> Verdict | None:
        """The best that a ladder of views has for one of its functions. A file that was
        not run stands for the function that it is named after.
        """
        found = [
            check.verdict
            for rung in self.rungs
            for check in rung.checks
            if check.name == name
            or (check.name not in self.task.functions and rung.rung.id.endswith(name))
        ]
        return min(found, key=_rank, default=None)

    def _of_functions(self) -> Verdict | None:
        """The worst that such a ladder has for any of them; None if nobody knows."""
        found = [self.of_function(name) for name in self.task.functions]
        judged = [verdict for verdict in found if verdict is not None]
        whole = len(self.rungs) == len(self.task.rungs)
        if whole and len(judged) < len(found):
            return None
        return max(judged, key=_rank, default=None)

    def _share(self, *, pending: bool) -> float:
        """The points of the functions that have passed, or are pending."""
        found = [self.of_function(name) for name in self.task.functions]
        mine = [v for v in found if v and v.ok and v.pending is pending]
        return self.task.points * len(mine) / len(found)

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

    def _covered(self, direction: str) -> float:
        """Which share of a direction the right files cover together: 1 if one of them
        covers everything, else the mean over the families of cases. No family counts
        for more than MOST.
        """
        right = [r for r in self.rungs if r.verdict(direction) is Verdict.PASS]
        checks = [[c for c in r.checks if c.direction == direction] for r in right]
        partial = [[c for c in found if c.of] for found in checks]
        if not all(partial):
            return 1.0
        asked = max((c.asked for found in partial for c in found), key=len)
        share = 0.0
        for family, count in asked.items():
            left = [_left(found, family) for found in partial]
            covered = 1 - len(set.intersection(*left)) / count
            share += min(1 / len(asked), MOST) * covered
        return share

    def _parts(self, direction: str) -> tuple[float, float]:
        """Points earned and pending in a direction."""
        task, best, timed = self.task, self.best(direction), self.speed(direction)
        fast = task.speed.points_of(direction) if task.speed else 0.0
        right = task.points - (task.speed.points if task.speed else 0)
        right /= len(DIRECTIONS)
        if best is None or not best.ok:
            return 0.0, 0.0
        if best.pending:
            return 0.0, right + fast
        right *= self._covered(direction)
        if timed is None or timed.verdict.pending:
            return right, fast
        return right + fast * timed.earned, 0.0

    def _all_parts(self) -> list[tuple[float, float]]:
        """The same of all that earns points."""
        if self.task.is_hunt:
            return [h for r in self.rungs for h in r.halves(self.task.worth(r.rung))]
        if self.task.functions:
            return [(self._share(pending=False), self._share(pending=True))]
        return [self._parts(direction) for direction in DIRECTIONS]

    @property
    def points(self) -> float:
        """Earned."""
        if self.recorded:
            return self.recorded[0]
        return sum(earned for earned, _ in self._all_parts())

    @property
    def pending(self) -> float:
        """Neither earned nor lost."""
        if self.recorded:
            return self.recorded[1]
        return sum(pending for _, pending in self._all_parts())

    @property
    def ok(self) -> bool:
        """Everything that was asked for passed or is pending."""
        if self.task.is_hunt:
            return all(check.verdict.ok for r in self.rungs for check in r.checks)
        found = (self.best(direction) for direction in self.asked)
        return all(verdict is not None and verdict.ok for verdict in found)


@dataclass(frozen=True)
class Results:
    """All tasks as they stand after a run, and what their numbers depend on."""

    tasks: tuple[TaskResult, ...]
    seed: int  # of the last run
    date: str  # of the last run, ISO 8601; "" if it is not known
    environment: Mapping[str, Any]  # as results.environment() has it

    def total(self, what: str, *, core: bool) -> float:
        """The sum of points, pending or of, on the core path or beyond it."""
        mine = [result for result in self.tasks if result.task.core is core]
        if what == "of":
            return sum(result.task.points for result in mine)
        return sum(float(getattr(result, what)) for result in mine)


def exit_status(results: list[TaskResult]) -> int:
    """3 if the grader itself failed anywhere; 0 when everything asked for passed or is
    pending, else 1.
    """
    rungs = [rung for result in results for rung in result.rungs]
    found = {check.verdict for rung in rungs for check in rung.checks}
    found |= {speed.verdict for rung in rungs for speed in rung.speeds}
    if Verdict.GRADER in found:
        return 3
    return 0 if all(result.ok for result in results) else 1
