# SPDX-License-Identifier: MIT
"""A wrong file is graded, and the message names the line that one change repairs."""

from __future__ import annotations

from grader.checks.check_result import CheckResult
from grader.checks.named_mistakes import ONE_CHANGE_HELPS
from grader.course.rungs import ROOT
from grader.diagnosis.repair import trying
from grader.verdicts import Verdict
from tests.proofs.mutations.frame import copied
from tests.proofs.mutations.graded_once import GradedAlone, graded

SEED = 7
UNFOLD_C = "labs/02_naive_c/unfold/00_definition.c"
UNFOLD_PY = "labs/01_python_function/unfold/00_slices.py"
PADDED = "if (ih < 0 || ih >= IH || iw < 0 || iw >= IW) {};  // padding"


def failed(rung: str, *edits: tuple[str, str]) -> list[CheckResult]:
    """The checks of a rung that fail after these edits of the reference."""
    text = (ROOT / rung).read_text()
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    with copied(rung, text) as copy:
        checks = graded(rung, copy, SEED, GradedAlone).checks
    return [check for check in checks if check.verdict is not Verdict.PASS]


def line_of(rung: str, words: str) -> int:
    """The line of the reference with these words."""
    text = (ROOT / rung).read_text()
    return text.count("\n", 0, text.index(words)) + 1


BREAK = PADDED.format("continue"), PADDED.format("break")
CROP = "top : top + IH, left : left + IW", "left : left + IH, top : top + IW"


def test_the_line_of_a_wrong_statement_in_c_is_named(tools):
    (check,) = failed(UNFOLD_C, BREAK)
    line = line_of(UNFOLD_C, BREAK[0])
    assert check.mistake == ONE_CHANGE_HELPS
    assert check.location and check.location.endswith(f"00_definition.c:{line}")
    begin = f"line {line}: with another statement in place of `break`, all "
    assert check.diagnosis and check.diagnosis.startswith(begin)
    assert "cases are right" in check.diagnosis and "continue" not in check.diagnosis


def test_changes_that_leave_a_tensor_or_never_end_do_not_end_the_worker(
    tools, monkeypatch
):
    monkeypatch.setattr(trying, "DEATHS", {False: 0})
    (check,) = failed(UNFOLD_C, BREAK)
    assert check.mistake == ONE_CHANGE_HELPS


def test_no_line_is_named_when_time_is_up(tools, monkeypatch):
    monkeypatch.setattr(trying, "CORE_SECONDS", 0.0)
    (check,) = failed(UNFOLD_C, BREAK)
    assert check.mistake is None and "line" not in (check.diagnosis or "")


def test_no_line_is_named_for_two_mistakes(tools):
    short = "n < grad_input->size[0]; n++", "n < grad_input->size[0] - 1; n++"
    (check,) = failed(UNFOLD_C, BREAK, short)
    assert check.mistake is None and "line" not in (check.diagnosis or "")


def test_the_line_of_a_wrong_python_file_is_named_and_its_rules_still_hold(tools):
    checks = failed(UNFOLD_PY, CROP)
    line = line_of(UNFOLD_PY, CROP[0])
    first = checks[0]
    assert first.mistake == ONE_CHANGE_HELPS, first
    assert first.location and first.location.endswith(f"00_slices.py:{line}")
    assert all(check.verdict is not Verdict.FORBIDDEN for check in checks)
