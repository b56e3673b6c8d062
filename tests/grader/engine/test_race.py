# SPDX-License-Identifier: MIT
"""The race for the speed points: which file is timed, and what a fault costs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from grader import operators
from grader.checks.check_result import CheckResult
from grader.checks.speed import machine, speed
from grader.course.rungs import Rung
from grader.engine import race
from grader.engine.score import RungResult, TaskResult
from grader.errors import GraderError
from grader.report import not_checked, terminal
from grader.toolchain.products import Build
from grader.verdicts import Verdict
from tests.grader.checks.speed.test_speed import (
    CASE,
    GELU_BODY,
    TASK,
    Compile,
    outcome,
    peaks,
)

__all__ = ["peaks"]  # a fixture
Covers = dict[str, tuple[str, ...]]  # as Rung.covers
Raced = Callable[..., list[RungResult]]


SLOW = f"for (volatile int i = 0; i < 2000000; i++) {{}} {GELU_BODY}"


@pytest.fixture
def raced(
    compile_gelu: Compile, peaks: machine.Peaks, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., list[RungResult]]:
    """What a race says of files that have passed, by the statements of each."""
    monkeypatch.setenv("SPEED", "on")
    gelu = type(operators.get("gelu"))
    monkeypatch.setattr(gelu, "speed_cases", lambda self: {"some": CASE})
    passed = CheckResult("forward", "forward", Verdict.PASS)

    def race_of(*bodies: str, covers: Covers | None = None) -> list[RungResult]:
        run, rungs = race.Race(1, lambda rung, check: None), []
        run._peaks = peaks
        builds: dict[str, Build] = {}
        monkeypatch.setattr(run.links, "build", lambda r, **_: builds[r.id])
        for number, body in enumerate(bodies):
            file = Path(f"/nowhere/{number:02}_file.c")
            rungs.append(Rung("02_naive_c/gelu", file, covers=covers or {}))
            built = compile_gelu(body)
            builds[rungs[-1].id] = Build(dict(built), ("forward", "backward"))
        return list(run.task(TASK, [RungResult(rung, (passed,)) for rung in rungs]))

    return race_of


def test_the_fastest_right_file_is_the_one_that_is_timed(raced: Raced) -> None:
    assert [len(r.speeds) for r in raced(SLOW, GELU_BODY)] == [0, 1]


def test_what_is_wrong_when_timed_is_wrong_and_the_next_file_has_its_turn(
    raced: Raced,
) -> None:
    slowly, wrongly = raced(SLOW, f"if (COUNT == 2000) return 0; {GELU_BODY}")
    assert wrongly.verdict("forward") is Verdict.WRONG_VALUE
    assert slowly.verdict("forward") is Verdict.PASS
    assert [s.direction for s in slowly.speeds] == ["forward"]


def test_a_case_that_no_right_file_covers_earns_nothing(raced: Raced) -> None:
    leaves = f"if (COUNT == 2000) return STATUS_UNSUPPORTED; {GELU_BODY}"
    (result,) = raced(leaves, covers={"": ("any",)})
    (speed,) = result.speeds
    assert (speed.verdict, speed.earned) == (Verdict.PASS, 0)
    assert "no right file of this ladder covers case some" in speed.message
    assert terminal._speed(result, "forward") == ""
    (line,) = not_checked.lines([TaskResult(TASK, (result,), ("forward",))])
    assert "no speed points" in line and "no right file of this ladder" in line


def test_a_fault_of_the_stopwatch_costs_nobody_points(
    raced: Raced, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speed, "check", None)
    ((found,),) = [result.speeds for result in raced(GELU_BODY)]
    assert found.verdict is Verdict.GRADER
    assert "the grader itself failed, please report it: TypeError" in found.message


def test_speed_off_leaves_the_points_pending(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPEED", "off")
    before = list(outcome().rungs)
    assert race.Race(1, lambda rung, check: None).task(TASK, before) == before


def test_a_case_that_does_not_exist_is_named() -> None:
    with pytest.raises(
        GraderError, match=r"the speed case 'none', but the speed cases of gelu.toml"
    ):
        race._case(TASK, operators.get("gelu"), "none")
