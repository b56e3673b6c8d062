# SPDX-License-Identifier: MIT
"""A rung with a changed text, graded as `make grade` grades it without speed: with
everything that is said of it, or up to its first verdict that is not PASS.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ladders.linked_parts import LOWER
from signatures import DIRECTIONS

from grader.checks.check_result import CheckResult
from grader.course.rungs import Rung, Selection
from grader.course.tasks import all_tasks
from grader.engine.checking.inspection import Inspection
from grader.engine.checking.rung_checker import Checker, Look
from grader.engine.grade import Grader
from grader.engine.score import RungResult
from grader.toolchain import make, products
from grader.verdicts import Verdict
from tests import ALL_RIGHT
from tests.proofs.mutations import frame
from tests.proofs.mutations.draw import Mutation


@dataclass(frozen=True)
class Outcome(frame.Outcome):
    """With the first verdict that is not PASS."""

    verdict: str
    where: str  # the check that gave it

    @property
    def verdicts(self) -> tuple[str, ...]:
        """The only one."""
        return (self.verdict,)

    @property
    def cells(self) -> list[str]:
        """With the check that saw it."""
        return [self.verdict, self.where]


def grade(mutation: Mutation, seed: int) -> Outcome:
    """Build and check one mutation."""
    start = time.perf_counter()
    with frame.mutated(mutation) as copy:
        result = graded_once(mutation, copy, seed)
    found = next((c for c in result.checks if c.verdict is not Verdict.PASS), None)
    return Outcome(
        mutation,
        seed,
        found.message if found else "",
        round(time.perf_counter() - start, 1),
        str(found.verdict if found else Verdict.PASS),
        f"{found.direction} {found.name}" if found else "",
    )


class Alone(Checker):
    """Asks everything of one rung. Lower rungs are taken to be right."""

    def __init__(self, selection: Selection, **named: Any) -> None:
        super().__init__(selection, **named)
        self.is_right = lambda *_: True  # type: ignore[method-assign]
        self.trial = ALL_RIGHT  # type: ignore[assignment]


class Once(Alone):
    """Ends at the first verdict that is not PASS, and gives no reason for it."""

    def _inspection(self, *words: Any) -> Any:
        look = super()._inspection(*words)
        assert isinstance(look, Inspection)
        look._with_reason = (  # type: ignore[method-assign]
            lambda result, cases: result
        )
        return look

    def _checks(
        self,
        subject: Any,
        rung: Rung,
        look: Look,
        directions: tuple[str, ...] = DIRECTIONS,
    ) -> list[CheckResult]:
        """Values and gradients first, then what takes longer: order, memory, races."""
        found = super()._checks(subject, rung, lambda r, *_: r, directions)
        cases = subject.operator.cases(self.seed)
        for direction in directions:
            if all(result.verdict is Verdict.PASS for result in found):
                of = [result for result in found if result.direction == direction]
                found = [*found, *look(of, direction, cases)[len(of) :]]
        return found

    def _direction(
        self, subject: Any, rung: Rung, direction: str, *, forward_ok: bool
    ) -> list[CheckResult]:
        if not forward_ok:  # forward has its verdict
            return []
        return super()._direction(subject, rung, direction, forward_ok=True)


class GradedAlone(Grader):
    """A grading that tells everything about one rung."""

    asks = Alone


class GradedOnce(Grader):
    """A grading that ends at the first verdict that is not PASS."""

    asks = Once


def graded_once(mutation: Mutation, copy: Path, seed: int) -> RungResult:
    """The rung of a mutation, up to its first verdict that is not PASS."""
    return graded(mutation.file, copy, seed, GradedOnce)


def graded(file: str, copy: Path, seed: int, by: type[Grader]) -> RungResult:
    """The rung with another file in its place; lower ones where it names one."""
    _, lab, operator, name = file.split("/")
    task = next(t for t in all_tasks() if t.id == f"{lab}/{operator}")
    rung = next(r for r in task.rungs if r.file.name == name)
    named = any(use.alias != LOWER and use.within(task.id) for use in rung.uses)
    lower = () if not named else tuple(r for r in task.rungs if r.id < rung.id)
    changed = replace(rung, file=copy)
    task = replace(task, rungs=(*lower, changed), speed=None)
    selection = Selection((task,), frozenset({changed.id}), whole=False)
    with by(selection, seed=seed) as grader:
        (done,) = grader.run()
    return done.rungs[0]


def ready(lock: Any) -> None:
    """Processes share a build folder: one at a time builds."""
    os.environ.update(SPEED="off", NVCC="none")
    run = make.run_make

    def in_turn(*words: Any, **named: Any) -> Any:
        with lock:
            return run(*words, **named)

    products.run_make = in_turn
