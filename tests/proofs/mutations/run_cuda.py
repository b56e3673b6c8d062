# SPDX-License-Identifier: MIT
"""Grades every drawn mutation of a CUDA rung with the whole grader: who survives?

    python -m tests.proofs.mutations.run_cuda   (frame.py has the options)

Each is graded as `make grade` grades that rung alone, without speed and nvcc, up to the
first verdict that is not PASS; values of both directions come first, and reasons are
not looked for. What a verdict of the grader's own fault or a pending one lets through
has survived. Survivors are argued in equivalent_cuda.toml.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Container
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from signatures import DIRECTIONS

from grader.checks.check_result import CheckResult
from grader.course.rungs import Rung, Selection
from grader.course.tasks import all_tasks
from grader.engine.asking.asker import Asker, Look
from grader.engine.asking.inspect_cuda import DeviceInspection
from grader.engine.grade import Grader
from grader.engine.score import RungResult
from grader.toolchain import cusim, make, products
from grader.verdicts import Verdict
from tests.proofs.mutations import frame
from tests.proofs.mutations.draw import Mutation
from tests.proofs.mutations.draw_cuda import KINDS, committed, kind_of
from tests.proofs.pages import table

PAGE = """# One token of a CUDA rung changed: what the grader lets pass

Written by `python -m tests.proofs.stress mutations --lab 04`. The list
was drawn by `draw_cuda.py` beside it, over all rungs that cusim runs,
and committed before the first run. A mutation is graded without a GPU,
up to its first verdict that is not PASS. Survivors are argued one by one
in `programs/mutations/equivalent_cuda.toml`: *equivalent*, or a *hole*.

{summary}.

{kinds}
"""


@dataclass(frozen=True)
class Outcome(frame.Outcome):
    """With the first verdict that is not PASS."""

    kind: str
    verdict: str
    where: str  # the check that gave it

    @property
    def verdicts(self) -> tuple[str, ...]:
        """The only one."""
        return (self.verdict,)

    @property
    def cells(self) -> list[str]:
        """With the kind of the mutation and the check that saw it."""
        return [self.kind, self.verdict, self.where]


# ---- grading one ---------------------------------------------------------------------


class Once(Asker):
    """Ends at the first verdict that is not PASS. Lower rungs are taken to be right."""

    def __init__(self, selection: Selection, **named: Any) -> None:
        super().__init__(selection, **named)
        self.links.verify = lambda rung, direction: True
        self.lending.is_right = lambda *_: True  # type: ignore[method-assign]

    def _inspection(self, *words: Any) -> Any:
        look = super()._inspection(*words)
        assert isinstance(look, DeviceInspection)
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
        lent: Container[str] = (),
    ) -> list[CheckResult]:
        """Values and gradients first, then what takes longer: order, memory, races."""
        found = super()._checks(subject, rung, lambda r, *_: r, directions, lent)
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


class GradedOnce(Grader):
    """A grading that asks in this way."""

    asks = Once


def grade(mutation: Mutation, seed: int) -> Outcome:
    """Build and check one mutation."""
    start = time.perf_counter()
    with frame.mutated(mutation) as copy:
        result = _graded(mutation, copy, seed)
    found = next((c for c in result.checks if c.verdict is not Verdict.PASS), None)
    return Outcome(
        mutation,
        seed,
        found.message if found else "",
        round(time.perf_counter() - start, 1),
        kind_of(mutation) if mutation.old else "as is",
        str(found.verdict if found else Verdict.PASS),
        f"{found.direction} {found.name}" if found else "",
    )


def _graded(mutation: Mutation, copy: Path, seed: int) -> RungResult:
    """The rung with another file in its place; lower ones where they lend something."""
    _, lab, operator, name = mutation.file.split("/")
    task = next(t for t in all_tasks() if t.id == f"{lab}/{operator}")
    rung = next(r for r in task.rungs if r.file.name == name)
    text = copy.read_text()
    named = any(use.target and use.within(task.id) for use in rung.uses)
    alone = all(f"{operator}_{d}(" in text for d in DIRECTIONS) and not named
    lower = () if alone else tuple(r for r in task.rungs if r.id < rung.id)
    changed = replace(rung, file=copy)
    task = replace(task, rungs=(*lower, changed), speed=None)
    selection = Selection((task,), frozenset({changed.id}), whole=False)
    with GradedOnce(selection, seed=seed) as grader:
        (done,) = grader.run()
    return done.rungs[0]


# ---- all of them ---------------------------------------------------------------------


def prepare() -> None:
    """Build what all share."""
    make.build_tools()
    cusim.build_tools()


def ready(lock: Any) -> None:
    """Processes share a build folder: one at a time builds."""
    os.environ.update(SPEED="off", NVCC="none")
    run = make.run_make

    def in_turn(*words: Any, **named: Any) -> Any:
        with lock:
            return run(*words, **named)

    products.run_make = in_turn


def by_kind(outcomes: list[Outcome]) -> list[str]:
    """A row for each kind of mutation."""
    rows = []
    for kind in KINDS:
        of = [o for o in outcomes if o.kind == kind]
        rows.append([kind, len(of), sum(o.caught for o in of), frame.verdicts_of(of)])
    return table(["kind", "drawn", "caught", "verdicts"], rows)


PROOF = frame.Proof(
    "_cuda",
    Outcome,
    committed,
    grade,
    prepare,
    ready,
    PAGE,
    ("kind", "verdict", "check"),
    by_kind,
)

if __name__ == "__main__":
    sys.exit(PROOF.main(sys.argv[1:]))
