# SPDX-License-Identifier: MIT
"""A repaired exhibit of a bug hunt is no solution of a task: copied there it earns 0.

Each repaired file is run as every task of its lab, under the name of that task's
operator. No direction may come out right. An exhibit of lab 05 is built in a package of
its own: there it is enough that no task has its operator.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from signatures import DIRECTIONS, SIGNATURES

from grader import operators
from grader.checks.subject import Subject
from grader.checks.values import each_dtype
from grader.course.rungs import EXTENSION, ROOT, Rung, Selection, Task
from grader.course.tasks import all_tasks
from grader.engine import plan
from grader.engine.checking.rung_checker import Checker
from grader.engine.checking.runnable import of_build
from grader.verdicts import Verdict
from tests import put

SEED = 11
EXHIBITS = [rung for task in all_tasks() if task.is_hunt for rung in task.rungs]


@pytest.fixture(scope="module")
def checker(tools: Path) -> Iterator[Checker]:
    """What builds single files."""
    made = Checker(Selection((), frozenset(), whole=False), seed=SEED)
    yield made
    made.close()


def tasks_of(lab: str) -> list[Task]:
    """The tasks of a lab that have an operator."""
    return [t for t in all_tasks() if t.lab == lab and t.operator in SIGNATURES]


def copied(rung: Rung, task: Task) -> Rung:
    """A repaired exhibit as a file of a task, under the name of its operator. Within a
    ladder nothing is linked, so the copy lacks what it used of this ladder.
    """
    folder = ROOT / "build" / "hunt_and_tasks" / task.id
    text = rung.file.read_text().replace(rung.operator, task.operator)
    file = put(folder / rung.file.name, text)
    uses = tuple(use for use in rung.uses if not use.within(task.id))
    return replace(rung, task=task.id, file=file, also=(), exhibit=None, uses=uses)


def subject_of(checker: Checker, rung: Rung) -> Subject | None:
    """What runs a file; None if it cannot be built."""
    operator = operators.get(rung.operator)
    if plan.kind(rung) == plan.PYTHON:
        return Subject(operator, source=rung.file, shown=rung.shown)
    built = checker.builds.whole(rung)
    return of_build(rung, built, operator) if built.libraries else None


def right_directions(checker: Checker, rung: Rung) -> list[str]:
    """The directions of a task in which a file would pass."""
    subject = subject_of(checker, rung)
    if subject is None:
        return []
    had = DIRECTIONS if subject.python else checker.builds.whole(rung).directions
    try:
        cases = subject.cases(SEED)
        asked = {d: each_dtype.check(subject, cases, d, SEED) for d in had}
    finally:
        subject.close()
    return [d for d, found in asked.items() if found[-1].verdict is Verdict.PASS]


def solved_by(checker: Checker, rung: Rung) -> list[str]:
    """The tasks of its lab in which a repaired exhibit would earn points."""
    tasks = tasks_of(rung.task.split("/")[0])
    if plan.kind(rung) == EXTENSION:
        return [task.id for task in tasks if task.operator == rung.operator]
    return [t.id for t in tasks if right_directions(checker, copied(rung, t))]


@pytest.mark.parametrize("rung", EXHIBITS, ids=[rung.id for rung in EXHIBITS])
def test_a_repaired_exhibit_earns_nothing_as_any_task_of_its_lab(
    checker: Checker, rung: Rung
) -> None:
    assert solved_by(checker, rung) == []


def test_a_file_that_solves_a_task_is_found(checker: Checker) -> None:
    task = next(task for task in tasks_of("02_naive_c") if task.operator == "gelu")
    rung = replace(task.rungs[0], task="02_naive_c/bug_hunt")
    own = replace(
        rung,
        task=task.id,
        file=put(ROOT / "build" / "hunt_and_tasks" / "own.c", rung.file.read_text()),
    )
    assert right_directions(checker, own) == list(DIRECTIONS)
