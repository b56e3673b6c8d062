# SPDX-License-Identifier: MIT
"""What student code leaves behind may be nonsense: it costs words, never the verdict.

And what goes wrong in the grader itself is not taken for such nonsense.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from grader import operators
from grader.checks import outcomes
from grader.checks.check_result import CheckResult
from grader.checks.memory import access, team_races
from grader.checks.subject import Subject
from grader.checks.values import each_dtype
from grader.course.rungs import Rung
from grader.course.threads import starts_threads
from grader.diagnosis import explanation
from grader.engine.checking.inspect_cpu import HostInspection
from grader.runner.supervisor.session import Outcome
from grader.toolchain.build import compiled
from grader.verdicts import Verdict
from tests.conftest import raising
from tests.grader.checks.memory.test_memory import checked, rung_of
from tests.grader.checks.memory.test_team_races import THREADS

FORGED = rung_of("gelu_forged_report")
WRONG = CheckResult("forward", "forward", Verdict.WRONG_VALUE, message="as it was")
RIGHT = CheckResult("forward", "forward", Verdict.PASS)
NOTHING = SimpleNamespace(
    python=False,
    operator=operators.get("gelu"),
    libraries={"f32": (Path("none"), Path("none"))},
)  # a subject that is never run


def looking() -> HostInspection:
    """An inspection of a rung that is never run."""
    return HostInspection(NOTHING, FORGED, 1)  # type: ignore[arg-type]


def test_a_forged_report_costs_its_rung_and_is_no_fault_of_the_grader(
    tools: Path,
) -> None:
    if reason := access.missing():
        pytest.skip(reason)
    found = checked("gelu_forged_report")
    assert found.verdict is Verdict.MEMORY_ERROR and found.location is None
    assert "\033" not in found.message


def test_a_diagnosis_that_fails_leaves_the_verdict_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(explanation, "explain", raising(TypeError("ours")))
    right, wrong = looking()([RIGHT, WRONG], "forward", [])
    assert (right, wrong.verdict, wrong.message) == (RIGHT, WRONG.verdict, "as it was")
    assert "the grader itself failed" in (wrong.diagnosis or "")
    assert "TypeError: ours, at conftest.py:" in (wrong.diagnosis or "")


@pytest.mark.parametrize(
    ("mistake", "words", "kept"),
    [
        ("loop_short", "the terms with k >= 128 are missing", False),
        ("factor_wrong", "the terms with k = 0 count twice", False),
        (None, "wrong exactly in the cases where K > 128", False),
        ("bias_index", "the bias is used at a wrong index", True),
    ],
)
def test_where_memory_outside_is_read_no_missing_terms_are_named(
    monkeypatch: pytest.MonkeyPatch, mistake: str | None, words: str, kept: bool
) -> None:
    """Numbers that are read there may be 0: then a term looks as if it were missing."""
    told = replace(WRONG, mistake=mistake, diagnosis=words)
    monkeypatch.setattr(explanation, "explain", lambda *_: told)
    look = looking()
    monkeypatch.setattr(look, "watched", lambda: SimpleNamespace(drop=lambda _: None))
    outside = {"verdict": Verdict.MEMORY_ERROR, "message": "reads past the end"}
    monkeypatch.setattr(
        access, "locate", lambda _, found, __: replace(found, **outside)
    )
    monkeypatch.setattr(look, "_after_death", lambda found: found)
    monkeypatch.setattr(look, "_located", lambda found, _: found)
    found = look._explained(WRONG, [])
    assert (found.verdict, found.message) == tuple(outside.values())
    assert (found.mistake, found.diagnosis) == (
        (mistake, words) if kept else (None,) * 2
    )


def test_a_memory_check_that_cannot_be_read_is_no_pass_and_our_own_mistake_shows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Grader._guarded turns the second into GRADER, with its place."""
    look = looking()
    monkeypatch.setattr(look, "watched", object)
    monkeypatch.setattr(access, "check", raising(IndexError("99")))
    *_, last = look([RIGHT], "forward", [])
    assert (last.name, last.verdict) == ("memory", Verdict.SUSPECT)
    assert not last.verdict.ok
    monkeypatch.setattr(access, "check", raising(TypeError("ours")))
    with pytest.raises(TypeError):
        look([RIGHT], "forward", [])


@pytest.mark.parametrize("error", [ValueError("99"), IndexError(), OSError(36, "long")])
def test_a_death_that_cannot_be_read_is_a_crash(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr(outcomes, "of_outcome", raising(error))
    subject = Subject(operators.get("gelu"), libraries={})
    found = subject._why(None, Outcome.DIED, "erf", 1.0)  # type: ignore[arg-type]
    assert (found.verdict, found.case) == (Verdict.CRASH, "erf")
    monkeypatch.setattr(outcomes, "of_outcome", raising(AttributeError("ours")))
    with pytest.raises(AttributeError):
        subject._why(None, Outcome.DIED, "erf", 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(("file", "asks"), [(THREADS, True), (FORGED.file, False)])
def test_a_right_rung_with_openmp_is_asked_for_races(
    monkeypatch: pytest.MonkeyPatch, file: Path, asks: bool
) -> None:
    race = CheckResult("races", "forward", Verdict.RACE)
    monkeypatch.setattr(team_races, "check", lambda *words: race)
    rung = Rung("03_im2col_cpu/gelu", file)
    look = HostInspection(NOTHING, rung, 1)  # type: ignore[arg-type]
    found = look([RIGHT], "forward", [])
    assert [r for r in found if r.name != "races"] == [RIGHT]
    assert (found[-1].verdict is Verdict.RACE) == asks
    assert look([WRONG], "forward", [])[-1].name == "forward"


def test_threads_of_a_rung_s_own_are_named_for_nobody_watches_them(
    tools: Path,
) -> None:
    rung = Rung("03_im2col_cpu/gelu", THREADS.with_name("own_threads.c"))
    libraries = {k: (v, v) for k, v in compiled(rung).libraries.items()}
    with closing(Subject(operators.get("gelu"), libraries=libraries)) as subject:
        (numbers,) = each_dtype.check(subject, subject.cases(1), "forward", 1)[:1]
        _, races = HostInspection(subject, rung, 1)([numbers], "forward", [])
    assert (races.name, races.verdict, races.cases) == ("races", Verdict.PASS, 0)
    assert "races were not checked: the code calls pthread_create" in races.message
    assert starts_threads(rung)
