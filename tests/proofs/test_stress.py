# SPDX-License-Identifier: MIT
"""The long proofs of right rungs judge as a grading does, and can fail."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.checks.check_result import CheckResult
from grader.checks.memory import team_races
from grader.checks.speed import ceiling
from grader.checks.values.compare import Expected
from grader.course.rungs import DIRECT
from grader.toolchain.make import build_tools
from grader.verdicts import Verdict
from tests.proofs import pages, right, stress
from tests.proofs.reference import subject_of

WINOGRAD = "03_im2col_cpu/conv2d/10_winograd_4x4"


@pytest.fixture(autouse=True)
def _table_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "RESULTS", tmp_path)
    build_tools()


def test_a_seed_of_winograd_may_round_as_winograd_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stress.seeds(1, only=WINOGRAD) == 0
    (row,) = (tmp_path / "seeds.md").read_text().splitlines()[-1:]
    _, name, count, checks, failures, worst, _ = row.split("|")
    assert (name.strip(), count.strip(), checks.strip()) == (WINOGRAD, "1", "2")
    assert failures.strip() == "0" and 0 < float(worst) < 1

    def strictly(*words: Any) -> Any:
        subject, directions = subject_of(*words)
        subject.numerics = DIRECT
        return subject, directions

    monkeypatch.setattr(stress, "subject_of", strictly)
    assert stress.seeds(1, only=WINOGRAD) == 1


def test_the_margin_is_that_of_the_class_which_computed_it() -> None:
    got = torch.tensor([1.0, 2.0])
    value, scale = got.double() + 2.0**-22, got.double()
    strict = Expected("output", value, scale)
    loose = Expected("output", value, 8 * scale)
    margin = stress.Margin()
    margin.note(got, strict)
    assert margin.worst == pytest.approx(1.0)
    margin = stress.Margin()
    margin.note(got, Expected("output", value, scale, loose=lambda _: loose))
    assert margin.worst == pytest.approx(1 / 8)
    equal = Expected("output", value)  # integers, say
    margin.note(got, equal)
    assert margin.worst == pytest.approx(1 / 8)


def test_a_right_file_is_not_suspected_and_an_impossible_time_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ladder = "02_naive_c/add"
    assert right.right(1, only=ladder) == 0
    lines = (tmp_path / right.PAGE).read_text().splitlines()
    rows = [line.split("|")[1:-1] for line in lines if line.startswith("| 0")]
    assert [row[1].strip() for row in rows] == ["backward", "forward"]
    assert all(float(row[-1]) > 1 and row[3].strip() == "0" for row in rows)

    monkeypatch.setattr(ceiling, "SHARE", 1e6)
    assert right.right(1, only=ladder) == 1


def test_a_race_is_an_accusation_and_so_is_a_check_that_saw_nothing() -> None:
    races = right.Races()
    passed = CheckResult("races", "forward", Verdict.PASS, cases=4)
    races.note(0, passed)
    assert (races.looked, races.findings) == (4, [])
    races.note(1, replace(passed, verdict=Verdict.RACE, message="two threads"))
    races.note(2, replace(passed, message=f"{team_races.UNSEEN}no runtime"))
    assert [text.split(" ")[1] for text in races.findings] == ["1", "2"]
