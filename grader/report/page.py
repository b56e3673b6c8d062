# SPDX-License-Identifier: MIT
"""Prepares the records of a grading (score.py) for the HTML report, in their order.

The templates read the records themselves. This module adds only what a page needs: an
outcome's colour, one line for several checks, excerpts and fragments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from pathlib import Path

from signatures import DIRECTIONS, SIGNATURES

from grader.checks.check_result import IN_FULL, CheckResult
from grader.checks.gates.matrix import rows
from grader.checks.speed.estimate import Speed
from grader.course.exhibits import PARTS
from grader.engine import next_task
from grader.engine.score import Results, RungResult, TaskResult, shown_points
from grader.report.check_words import check_words
from grader.report.failure.excerpt import Excerpt, excerpt
from grader.report.measured import Machine, machine
from grader.report.progress.next_step import NextStep
from grader.verdicts import Verdict

LABS = {  # the course, whether or not a lab is there yet
    "01_python_function": "Python function",
    "02_naive_c": "naive C",
    "03_im2col_cpu": "im2col on the CPU",
    "04_cuda_kernels": "CUDA kernels",
    "05_torch_extension": "torch extension",
}


FIRST_FIXES = 3  # tasks that the page's first section names


@dataclass(frozen=True)
class Outcome:
    """A verdict, and the kind that chooses its colour and its symbol."""

    word: str
    kind: str  # pass, fail, todo, pending or none


NOTHING = Outcome("-", "none")


def outcome(verdict: Verdict) -> Outcome:
    """The kind of a verdict."""
    if verdict is Verdict.PASS:
        return Outcome(verdict, "pass")
    if verdict is Verdict.NOT_IMPLEMENTED:
        return Outcome(verdict, "todo")
    return Outcome(verdict, "pending" if verdict.pending else "fail")


# ---- of a file -----------------------------------------------------------------------


def title(rung: RungResult) -> str:
    """00_definition."""
    return rung.rung.id.rpartition("/")[2]


def short(rung: RungResult) -> str:
    """The file's name without its folder."""
    return rung.rung.shown.rpartition("/")[2]


def directions(rung: RungResult) -> dict[str, Outcome]:
    """What came of those that the file defines: an error speaks for all."""
    found: dict[str, Outcome] = {}
    for direction in PARTS:
        mine = [outcome(c.verdict) for c in rung.checks if c.direction == direction]
        if mine:
            found[direction] = _worst(mine)
    return found


def bad(rung: RungResult) -> list[CheckResult]:
    """The checks that are told in full."""
    return [check for check in rung.checks if check.verdict is not Verdict.PASS]


def passed(rung: RungResult) -> str:
    """forward in float32 and float64, memory accesses, backward in float32: so many
    cases. In the order in which they ran.
    """
    checks = [check for check in rung.checks if check.verdict is Verdict.PASS]
    found: dict[str, list[str]] = {}
    for check in checks:
        dtypes = found.setdefault(check_words(replace(check, dtype="")), [])
        dtypes += [IN_FULL.get(check.dtype, check.dtype)] if check.dtype else []
    parts = [
        f"{words} in {' and '.join(dict.fromkeys(dtypes))}" if dtypes else words
        for words, dtypes in found.items()
    ]
    cases = sum(check.cases for check in checks)
    return f"{'; '.join(parts)}: {cases} cases" if parts else ""


# ---- of a task -----------------------------------------------------------------------


def anchor(*parts: str) -> str:
    """A fragment that needs no escaping, whatever the parts hold."""
    return "-".join(
        re.sub(r"[^a-z0-9]+", "-", part.lower()).strip("-") for part in parts
    )


def key(result: TaskResult) -> str:
    """A short word for the ids of a task's charts."""
    return anchor(result.task.lab[:2] + result.task.operator)


def timed(result: TaskResult) -> list[tuple[RungResult, Speed]]:
    """Every measurement with its file."""
    return [(rung, speed) for rung in result.rungs for speed in rung.speeds]


def bad_files(result: TaskResult) -> int:
    """How many files have something to mend or to wait for."""
    return sum(bool(bad(rung)) for rung in result.rungs)


def task_outcome(result: TaskResult) -> Outcome:
    """The first direction that is not right, or PASS; of all files in a bug hunt. If
    the rest is not written yet, the points so far: "5 of 7".
    """
    found = _first_outcome(result)
    if found.kind != "todo" or not result.points:
        return found
    earned, of = shown_points(result.points), shown_points(result.task.points)
    return Outcome(f"{earned} of {of}", "todo")


def _first_outcome(result: TaskResult) -> Outcome:
    if result.task.is_hunt:
        return _worst(one for r in result.rungs for one in directions(r).values())
    if result.task.functions:
        verdict = result.best("forward")
        return outcome(verdict) if verdict else NOTHING
    return _worst(_best(result, direction) for direction in DIRECTIONS)


def _best(result: TaskResult, direction: str) -> Outcome:
    """As points are given: any file that passes, else a pending one; then an error,
    before what is not written.
    """
    here = [rung for rung in result.rungs if not rung.rung.needs] or result.rungs
    found = [of[direction] for rung in here if direction in (of := directions(rung))]
    for kind in ("pass", "pending", "fail"):
        for one in found:
            if one.kind == kind:
                return one
    return found[-1] if found else NOTHING


def _worst(outcomes: Iterable[Outcome]) -> Outcome:
    """An error speaks for all, else the first that is not right."""
    looked_at = [one for one in outcomes if one is not NOTHING]
    wrong = [one for one in looked_at if one.kind != "pass"]
    failed = [one for one in wrong if one.kind == "fail"]
    return next(iter([*failed, *wrong, *looked_at]), NOTHING)


# ---- of everything -------------------------------------------------------------------


@dataclass(frozen=True)
class Page:
    """The whole report."""

    results: Results
    root: Path  # where the sources are
    next_step: NextStep | None = None  # for the first section

    @property
    def labs(self) -> list[str]:
        """Those of the course, and any other."""
        return sorted({*LABS, *(result.task.lab for result in self.tasks)})

    @property
    def operators(self) -> list[str]:
        """Those of the course, and any other."""
        more = {result.task.operator for result in self.tasks} - set(SIGNATURES)
        return [*SIGNATURES, *sorted(more)]

    @property
    def tasks(self) -> list[TaskResult]:
        """All of them, lab after lab."""
        return sorted(self.results.tasks, key=lambda result: result.task.lab)

    def of(self, lab: str) -> Results:
        """A lab's share of the results."""
        mine = tuple(r for r in self.results.tasks if r.task.lab == lab)
        return replace(self.results, tasks=mine)

    def task(self, lab: str, operator: str) -> TaskResult | None:
        """A cell of the matrix."""
        wanted = f"{lab}/{operator}"
        return next((r for r in self.tasks if r.task.id == wanted), None)

    @property
    def pending(self) -> float:
        """Points of any task that are neither earned nor lost."""
        return sum(result.pending for result in self.tasks)

    @property
    def right(self) -> int:
        """How many tasks pass."""
        return sum(task_outcome(result).kind == "pass" for result in self.tasks)

    @property
    def to_fix(self) -> list[tuple[TaskResult, RungResult, CheckResult]]:
        """The first tasks that are wrong, each with its first failing check."""
        return [*islice(self._wrong(), FIRST_FIXES)]

    def _wrong(self) -> Iterator[tuple[TaskResult, RungResult, CheckResult]]:
        for task in next_task.of_results(self.tasks):
            wrong = [(rung, check) for rung in task.rungs for check in bad(rung)]
            failed = [(r, c) for r, c in wrong if outcome(c.verdict).kind == "fail"]
            if task_outcome(task).kind == "fail" and not task.task.is_hunt:
                yield (task, *failed[0])

    @property
    def gated(self) -> list[tuple[TaskResult, RungResult]]:
        """What has gates: the operators of lab 05."""
        return [(t, rung) for t in self.tasks for rung in t.rungs if rung.gates]

    @property
    def gates(self) -> list[tuple[str, list[Outcome]]]:
        """Gate by operator, in the order of `gated`."""
        columns = [rung.gates for _, rung in self.gated]
        return [
            (gate, [outcome(Verdict(cell)) if cell else NOTHING for cell in cells])
            for gate, cells in rows(columns)
        ]

    @property
    def timed(self) -> bool:
        """Whether anything was measured."""
        return any(timed(result) for result in self.tasks)

    @property
    def date(self) -> str:
        """An ISO date as people write it; nothing if there is none."""
        try:
            when = datetime.fromisoformat(self.results.date)
        except ValueError:
            return ""
        return f"{when.day} {when:%B %Y, %H:%M}"

    @property
    def machine(self) -> Machine | None:
        """The peaks, if they were measured."""
        return machine(self.results.environment.get("machine"))

    def excerpt(self, rung: RungResult, check: CheckResult) -> Excerpt | None:
        """The lines where a check failed."""
        if not check.location:
            return None
        file, sha256 = rung.rung.shown, rung.rung.sha256
        return excerpt(check.location, file=file, sha256=sha256, root=self.root)
