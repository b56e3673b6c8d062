# SPDX-License-Identifier: MIT
"""Every exhibit both ways: why nobody noticed its bug, and that the grader does.

The file as it was handed out passes the settings that lab.toml lists, is rejected by
the grader, and earns nothing; the repair earns everything, and so does its case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from signatures import DIRECTIONS

from grader import operators
from grader.course.exhibits import CASE_CHECK
from grader.course.rungs import Rung, Selection
from grader.course.tasks import all_tasks
from grader.engine.checking.rung_checker import Checker
from grader.engine.score import RungResult
from grader.solution_marks import starter
from grader.toolchain import given
from grader.verdicts import Verdict
from tests import ROOT, put

SEED = 11
EXHIBITS = [rung for task in all_tasks() if task.is_hunt for rung in task.rungs]

every_exhibit = pytest.mark.parametrize("rung", EXHIBITS, ids=lambda rung: rung.id)


@pytest.fixture(scope="module")
def checker(tools: Path) -> Iterator[Checker]:
    """What grades single files."""
    made = Checker(Selection((), frozenset(), whole=False), seed=SEED)
    yield made
    made.close()


def graded(checker: Checker, rung: Rung) -> RungResult:
    """What `make grade` finds out about an exhibit and its case."""
    checker.rungs[rung.id] = rung
    return checker.answer(rung.id, warm=False).result


def handed_out(rung: Rung, case: str) -> Rung:
    """An exhibit as a student finds it, with a case that lies beside it."""
    broken = given.broken(rung)
    put(broken.case_file, case)
    return broken


def untouched(rung: Rung) -> Rung:
    """An exhibit as a student finds it, the case included."""
    return handed_out(rung, starter(rung.case_file.read_text()))


def earned(result: RungResult, worth: float = 1) -> float:
    """The points of an exhibit that is worth so many."""
    return sum(points for points, _ in result.halves(worth))


def called_by_the_repair(rung: Rung) -> set[str]:
    """The functions that the repair calls, and the broken file does not."""
    text = rung.file.read_text()
    calls = re.compile(r"\w+(?=\()")
    return set(calls.findall(text)) - set(calls.findall(starter(text)))


@every_exhibit
def test_the_bug_passes_the_settings_for_which_nobody_noticed_it(
    checker: Checker, rung: Rung
) -> None:
    operator = operators.get(rung.operator)
    cases = [operator.case(line) for line in rung.exhibit.passes]
    result = checker.checked_rung(given.broken(rung), operator.on(*cases))
    assert [c for c in result.checks if c.verdict is not Verdict.PASS] == []
    assert any(check.cases == len(cases) for check in result.checks)


@every_exhibit
def test_the_grader_rejects_the_bug_and_gives_nothing_for_it(
    checker: Checker, rung: Rung
) -> None:
    result = graded(checker, untouched(rung))
    found = {d: v for d in DIRECTIONS if (v := result.verdict(d)) not in (None, "PASS")}
    assert found == dict(rung.exhibit.verdict), result.checks
    assert earned(result) == 0
    (case,) = [check for check in result.checks if check.name == CASE_CHECK]
    assert case.verdict in (Verdict.WRONG_CONTRACT, Verdict.LIMIT)
    assert case.message.startswith(str(given.broken(rung).case_file.relative_to(ROOT)))
    for check in result.checks:
        details = check.diagnosis, check.mistake, check.location, check.replay
        assert (*details, check.heat, check.printed) == (None,) * 6, check
        if check.verdict is not Verdict.PASS and check is not case:
            assert check.message.startswith("this check fails. Find out for which case")


@every_exhibit
def test_the_grader_tells_what_is_wrong_once_a_case_exposes_it(
    checker: Checker, rung: Rung
) -> None:
    result = graded(checker, handed_out(rung, rung.case_file.read_text()))
    assert result.verdict(CASE_CHECK) is Verdict.PASS
    named = [(c.mistake or "", c.diagnosis or "") for c in result.checks]
    wanted = rung.exhibit.mistake  # a known mistake's name, or how the words begin
    assert any(m == wanted or words.startswith(wanted) for m, words in named)
    wrong = [c for c in result.checks if c.verdict is not Verdict.PASS]
    messages = " ".join(f"{check.message} {check.diagnosis}" for check in wrong)
    assert wrong and "Find out for which case" not in messages
    assert "the grader itself failed" not in messages
    assert [name for name in called_by_the_repair(rung) if f"{name}(" in messages] == []


@every_exhibit
def test_the_repair_and_the_case_earn_everything(checker: Checker, rung: Rung) -> None:
    result = graded(checker, rung)
    assert [c for c in result.checks if c.verdict is not Verdict.PASS] == []
    assert earned(result, rung.exhibit.points) == rung.exhibit.points
