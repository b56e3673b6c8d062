# SPDX-License-Identifier: MIT
"""Which failures of an exhibit as it was handed out count for the student's case."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.checks.check_result import CheckResult
from grader.course.tasks import all_tasks
from grader.engine.checking import exposing
from grader.verdicts import Verdict

SHOWN = "labs/02_naive_c/bug_hunt/00_name.case.toml"


def found(*verdicts: Verdict) -> CheckResult:
    """What is said of a case on which the broken file gets these verdicts."""
    failed = [CheckResult("forward", "forward", v, message="so") for v in verdicts]
    return exposing._exposed(failed, SHOWN)


@pytest.mark.parametrize(
    "verdict",
    [
        v
        for r in all_tasks()
        for e in r.rungs
        if e.exhibit
        for v in e.exhibit.verdict.values()
    ],
)
def test_every_way_in_which_an_exhibit_is_wrong_exposes_it(verdict: Verdict) -> None:
    assert found(verdict).verdict is Verdict.PASS


def test_a_case_that_the_broken_file_passes_exposes_nothing() -> None:
    result = found()
    assert result.verdict is Verdict.WRONG_CONTRACT
    assert result.message.startswith(f"{SHOWN}: the original file passes")


@pytest.mark.parametrize("verdict", [Verdict.TIMEOUT, Verdict.BUILD, Verdict.SKIPPED])
def test_a_file_that_could_not_be_asked_exposes_nothing(verdict: Verdict) -> None:
    result = found(verdict)
    assert result.verdict.pending
    assert result.message == f"{SHOWN}: the original file cannot run this case: so"


@pytest.mark.parametrize("verdict", [Verdict.WRONG_VALUE, Verdict.RACE, Verdict.CRASH])
def test_a_failing_check_shows_its_verdict_alone_until_the_bug_is_exposed(
    verdict: Verdict,
) -> None:
    rung = next(r for task in all_tasks() for r in task.rungs if r.exhibit)
    check = CheckResult("forward", "forward", verdict, "f32", message="so", mistake="m")
    check = replace(check, location="x.c:3", replay="odd", diagnosis="because")
    assert exposing.shown(rung, [check], told=True) == (check,)
    (shown,) = exposing.shown(rung, [check], told=False)
    text = exposing.WITHHELD.format(case=exposing.shown_case(rung), rung=rung.id)
    assert shown == CheckResult("forward", "forward", verdict, message=text)


@pytest.mark.parametrize("verdict", [Verdict.BUILD, Verdict.BLOCKED, Verdict.PASS])
def test_what_says_nothing_about_the_bug_is_shown_at_once(verdict: Verdict) -> None:
    rung = next(r for task in all_tasks() for r in task.rungs if r.exhibit)
    check = CheckResult("build", "forward", verdict, message="so", location="x.c:3")
    assert exposing.shown(rung, [check], told=False) == (check,)
