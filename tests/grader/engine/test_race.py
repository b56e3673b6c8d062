# SPDX-License-Identifier: MIT
"""The race for the speed points: which file is timed, and what a fault costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader import operators
from grader.checks.check_result import CheckResult
from grader.checks.speed import machine, speed
from grader.checks.values.fallback import Servers
from grader.course.rungs import Rung
from grader.course.uses import Use
from grader.engine import race
from grader.engine.score import RungResult, TaskResult
from grader.errors import GraderError
from grader.report import reservations, terminal
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


def test_the_fastest_right_file_is_the_one_that_is_timed(
    compile_gelu: Compile, peaks: machine.Peaks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPEED", "on")
    slow = f"for (volatile int i = 0; i < 2000000; i++) {{}} {GELU_BODY}"
    files = {"00_slow": compile_gelu(slow), "01_fast": compile_gelu(GELU_BODY)}
    run = race.Race(1, lambda rung, check: None)
    run._peaks = peaks
    names = {"some": CASE}
    gelu = type(operators.get("gelu"))
    monkeypatch.setattr(gelu, "speed_cases", lambda self: names)
    rungs = []
    for name, libraries in files.items():
        rung = Rung("02_naive_c/gelu", Path(f"/nowhere/{name}.c"))
        run.libraries[rung.id] = {d: (p, p) for d, p in libraries.items()}
        rungs.append(
            RungResult(rung, (CheckResult("forward", "forward", Verdict.PASS),))
        )
    found = run.task(TASK, rungs)
    assert [len(r.speeds) for r in found] == [0, 1]


def offered(
    monkeypatch: pytest.MonkeyPatch,
    peaks: machine.Peaks,
    libraries: dict[str, Path],
    uses: tuple[Use, ...] = (),
) -> RungResult:
    """What a race says of the only right file of a ladder."""
    monkeypatch.setenv("SPEED", "on")
    gelu = type(operators.get("gelu"))
    monkeypatch.setattr(gelu, "speed_cases", lambda self: {"some": CASE})
    run = race.Race(1, lambda rung, check: None)
    run._peaks = peaks
    rung = Rung("02_naive_c/gelu", Path("/nowhere/00_only.c"), uses=uses)
    run.libraries[rung.id] = {d: (p, p) for d, p in libraries.items()}
    passed = CheckResult("forward", "forward", Verdict.PASS)
    (result,) = run.task(TASK, [RungResult(rung, (passed,))])
    return result


def test_what_is_wrong_when_timed_is_wrong_and_the_next_file_has_its_turn(
    compile_gelu: Compile, peaks: machine.Peaks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPEED", "on")
    wrong = f"if (COUNT == 2000) return 0; {GELU_BODY}"
    slow = f"for (volatile int i = 0; i < 2000000; i++) {{}} {GELU_BODY}"
    files = {"00_slow": compile_gelu(slow), "01_wrong": compile_gelu(wrong)}
    run = race.Race(1, lambda rung, check: None)
    run._peaks = peaks
    gelu = type(operators.get("gelu"))
    monkeypatch.setattr(gelu, "speed_cases", lambda self: {"some": CASE})
    rungs = []
    for name, libraries in files.items():
        rung = Rung("02_naive_c/gelu", Path(f"/nowhere/{name}.c"))
        run.libraries[rung.id] = {d: (p, p) for d, p in libraries.items()}
        passed = CheckResult("forward", "forward", Verdict.PASS)
        rungs.append(RungResult(rung, (passed,)))
    slowly, wrongly = run.task(TASK, rungs)
    assert wrongly.verdict("forward") is Verdict.WRONG_VALUE
    assert slowly.verdict("forward") is Verdict.PASS
    assert [s.direction for s in slowly.speeds] == ["forward"]


def test_a_case_that_only_a_given_object_computes_earns_nothing(
    compile_gelu: Compile, peaks: machine.Peaks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Servers, "computes", lambda *_: "given/x86-64-v2/gelu")
    use = Use("fallback", "", "labs/02_naive_c/lab.toml")
    result = offered(monkeypatch, peaks, compile_gelu(GELU_BODY), (use,))
    (speed,) = result.speeds
    assert (speed.verdict, speed.earned) == (Verdict.PASS, 0)
    assert "left to a given object" in speed.message
    assert terminal._speed(result, "forward") == ""
    (line,) = reservations.lines([TaskResult(TASK, (result,), ("forward",))])
    assert line.endswith("no speed points, case some is left to a given object")


def test_a_fault_of_the_stopwatch_costs_nobody_points(
    compile_gelu: Compile, peaks: machine.Peaks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speed, "check", None)
    result = offered(monkeypatch, peaks, compile_gelu(GELU_BODY))
    (found,) = result.speeds
    assert found.verdict is Verdict.GRADER
    assert "the grader itself failed, please report it: TypeError" in found.message


def test_speed_off_leaves_the_points_pending(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPEED", "off")
    before = list(outcome().rungs)
    assert race.Race(1, lambda rung, check: None).task(TASK, before) == before


def test_a_case_that_does_not_exist_is_named() -> None:
    with pytest.raises(GraderError, match=r"timed on case 'none', but gelu.toml has"):
        race._case(TASK, operators.get("gelu"), "none")
