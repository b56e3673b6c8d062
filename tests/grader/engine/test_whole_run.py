# SPDX-License-Identifier: MIT
"""A whole grading: what a mistake of our own costs, and a run that takes times."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from grader.checks.values import forward
from grader.course.tasks import select
from grader.engine.grade import Grader
from grader.engine.results import SCHEMA_FILE
from grader.verdicts import Verdict
from tests.grader.engine.test_grade import copy_of_the_repository


def test_a_mistake_of_our_own_costs_one_rung_and_no_points(
    tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It shows as GRADER, with its place, and the next rung is graded all the same."""
    usual = forward.check

    def fails_first(*given: Any, **options: Any) -> Any:
        monkeypatch.setattr(forward, "check", usual)
        raise TypeError("ours")

    monkeypatch.setattr(forward, "check", fails_first)
    with Grader(select("02_naive_c/matmul"), seed=1, check="forward") as grader:
        (task,) = grader.run()
    first, second = task.rungs
    assert first.verdict("forward") is first.verdict("backward") is Verdict.GRADER
    assert "TypeError: ours, at test_whole_run.py:" in first.checks[0].message
    assert second.verdict("forward") is Verdict.PASS


def test_a_run_that_takes_times_ends_with_speeds_and_a_machine_card(
    tools: Path, tmp_path: Path
) -> None:
    tree = copy_of_the_repository(tmp_path, tools, "02_naive_c/gelu", timed=True)
    done = tree.run("grade", "02_naive_c/gelu", SPEED="on")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\n02_naive_c/gelu/00_definition: speed backward\ntask / rung" in done.stdout
    jsonschema.validate(tree.results, json.loads(SCHEMA_FILE.read_text()))
    assert tree.results["environment"]["machine"]["fma_gflops"] > 0
    (rung,) = tree.task("02_naive_c/gelu")["rungs"]
    timed = {entry["direction"]: entry["verdict"] for entry in rung["speed"]}
    assert set(timed) == {"forward", "backward"}
    assert set(timed.values()) <= {"PASS", "NOISY"}
