# SPDX-License-Identifier: MIT
"""`make progress` shows what earlier gradings found out, and grades nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.commands import cli
from grader.engine.answers.ledger import CHECKS, Ledger
from grader.report import terminal
from tests.grader.engine.test_history import NAME, OTHER, checks, recorded


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CONVLAB_BUILD", str(tmp_path))
    made = tmp_path / "grade"
    made.mkdir()
    return made


def shown(capsys: pytest.CaptureFixture[str]) -> str:
    terminal.console.file = None  # type: ignore[assignment]  # today's stdout
    assert cli.main(["progress"]) == 0
    return capsys.readouterr().out


def test_before_anything_was_graded_it_says_where_to_begin(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(capsys)
    assert "02_naive_c" in text and "0 / 20" in text
    assert "Next: labs/02_naive_c/add" in text
    assert not (folder / "progress.html").exists()


def test_points_over_time_are_a_line_and_a_page(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Ledger(folder) as ledger:
        recorded(
            ledger,
            (CHECKS, NAME, checks("PASS", "NOT_IMPLEMENTED", "a")),
            (CHECKS, NAME, checks("PASS", "PASS", "b")),
        )
    text = shown(capsys)
    assert "▅█ 5" in text
    page = (folder / "progress.html").read_text()
    assert "from 2.50 to 5.00" in page and "progress.html" in text


def test_extra_points_have_a_line_of_their_own(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    half = checks("PASS", "NOT_IMPLEMENTED", "a", OTHER)
    whole = checks("PASS", "PASS", "b", OTHER)
    with Ledger(folder) as ledger:
        recorded(ledger, (CHECKS, OTHER, half), (CHECKS, OTHER, whole))
    text = shown(capsys)
    assert re.search(r"▁▁ 0 of the core path\n +▅█ [1-9][.\d]* extra\n", text)
    assert "points, extra" in (folder / "progress.html").read_text()
