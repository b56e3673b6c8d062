# SPDX-License-Identifier: MIT
"""Wrong programs that passed before some case was added: that case finds each now.

They stand in tests/programs/survivors.toml, as edits of reference rungs.
"""

from __future__ import annotations

import dataclasses
import tomllib
from contextlib import closing
from pathlib import Path

import pytest
from signatures import DIRECTIONS

from grader import operators
from grader.checks.memory import team_races
from grader.checks.subject import Subject
from grader.checks.values import forward, gradient
from grader.course.rungs import Rung
from grader.course.tasks import all_tasks
from grader.engine.checking.runnable import of_build
from grader.operators import Case
from grader.toolchain.build import compiled
from grader.toolchain.linking import Links
from grader.toolchain.products import TEAM
from grader.verdicts import Verdict
from tests import ALL_RIGHT, PROGRAMS, ROOT, put_rung, some
from tests.house.student_mistakes import Mistake

ENTRIES = tomllib.loads((PROGRAMS / "survivors.toml").read_text())["mistake"]
CASES = {entry["id"]: entry.pop("case") for entry in ENTRIES}
SURVIVORS = [Mistake(kind="survivor", **entry) for entry in ENTRIES]
RUNGS = {rung.file: rung for task in all_tasks() for rung in task.rungs}
SEED = 5


def of(wrong: Mistake) -> tuple[Rung, Case]:
    """The rung that is edited, and the case that finds it."""
    rung = RUNGS[wrong.path]
    operator = operators.get(rung.operator)
    every = [*operator.cases(SEED), *operator.thread_cases()]
    (case,) = (case for case in every if case.name == CASES[wrong.id])
    return rung, case


def values(rung: Rung, case: Case, direction: str) -> set[Verdict]:
    """The verdicts of one case, in both dtypes."""
    operator = operators.get(rung.operator)
    if rung.file.suffix == ".py":
        subject = Subject(operator, source=rung.file, shown=rung.file.name)
    else:
        built = compiled(rung)
        assert built.libraries, built.error
        libraries = {k: (v, v) for k, v in built.libraries.items()}
        subject = Subject(operator, libraries=libraries)
    check = {"forward": forward.check, "backward": gradient.check}[direction]
    with closing(subject):
        return {check(subject, [case], d, SEED).verdict for d in subject.dtypes}


def races(rung: Rung, direction: str) -> Verdict:
    """The check of the threads of a rung that calls others."""
    links = Links(judge=ALL_RIGHT)
    built, judged = links.build(rung, mode=TEAM), of_build(rung, links.build(rung))
    with closing(judged):
        return team_races.check(judged, built, direction, SEED).verdict


@pytest.mark.parametrize("wrong", some(SURVIVORS, every=5), ids=lambda w: w.id)
def test_the_case_that_was_missing_finds_it(tools: Path, wrong: Mistake) -> None:
    rung, case = of(wrong)
    place = ROOT / "build" / "programs" / "survivors" / wrong.id
    file = put_rung(place, wrong.rung, wrong.text())
    edited = dataclasses.replace(rung, file=file)
    directions = DIRECTIONS if wrong.direction == "both" else (wrong.direction,)
    for direction in directions:
        if rung.uses:
            assert races(edited, direction) is Verdict.RACE
            assert races(rung, direction) is Verdict.PASS
        else:
            assert Verdict.PASS not in values(edited, case, direction)
            assert values(rung, case, direction) == {Verdict.PASS}


def test_every_edit_fits_and_names_a_case() -> None:
    texts = {wrong.text() for wrong in SURVIVORS}
    assert len(texts) == len(SURVIVORS) == len(CASES)
    for wrong in SURVIVORS:
        of(wrong)
