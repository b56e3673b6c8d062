# SPDX-License-Identifier: MIT
"""The course as a matrix: a cell for each operator, lab and direction."""

from __future__ import annotations

from pathlib import Path

import pytest
from signatures import SIGNATURES

from grader.checks.check_result import CheckResult
from grader.course.rungs import Task
from grader.engine import coverage
from grader.engine.answers import as_json
from grader.engine.score import GradedRung, Results, RungResult, TaskResult
from grader.report import terminal
from grader.verdicts import Verdict


def result(lab: str, operator: str, **verdicts: Verdict) -> TaskResult:
    """A task with one file, its directions with these verdicts."""
    rung = GradedRung(f"{lab}/{operator}", Path("00_any.c"), name="any", digest="")
    checks = tuple(CheckResult("any", d, v) for d, v in verdicts.items())
    task = Task(lab, operator, "", 1.0, core=False)
    return TaskResult(task, (RungResult(rung, checks),))


ADD = result("02_naive_c", "add", forward=Verdict.PASS, backward=Verdict.PASS)
GELU = result("02_naive_c", "gelu", forward=Verdict.PASS, backward=Verdict.CRASH)
HALF = result("04_cuda_kernels", "add", forward=Verdict.PENDING_GPU)


def test_every_operator_has_a_cell_in_every_lab_and_direction() -> None:
    found = coverage.matrix([])
    assert len(found.cells) == 2 * 5 * len(SIGNATURES) == 100
    assert found.right == 0 and set(found.cells.values()) == {None}


def test_only_what_passed_is_right() -> None:
    found = coverage.matrix([ADD, GELU, HALF])
    assert found.right == 3
    assert found.of("gelu", "02_naive_c") == [Verdict.PASS, Verdict.CRASH]
    assert found.of("add", "04_cuda_kernels") == [Verdict.PENDING_GPU, None]


def test_results_json_names_the_cells_that_were_graded() -> None:
    entry = as_json.results_entry(Results((ADD, HALF), 7, "", {}))
    assert set(entry["matrix"]) == set(SIGNATURES)
    assert entry["matrix"]["add"]["02_naive_c"] == {
        "forward": "PASS",
        "backward": "PASS",
    }
    assert entry["matrix"]["add"]["04_cuda_kernels"] == {"forward": "PENDING_GPU"}
    assert entry["matrix"]["lltm"]["02_naive_c"] == {}


def test_the_table_fits_80_columns_and_counts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    terminal.course(Results((ADD, GELU, HALF), 7, "", {}))
    said = capsys.readouterr().out.splitlines()
    assert max(map(len, said)) <= 80
    (gelu,) = (line for line in said if line.startswith("gelu"))
    assert "PASS/FAIL" in gelu
    assert said[-1].startswith("  3 of 100 are right")
