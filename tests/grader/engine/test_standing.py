# SPDX-License-Identifier: MIT
"""What counts of earlier results: not those of a file that has changed since."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from grader.checks.check_result import CheckResult
from grader.course.rungs import Rung, Task
from grader.engine import merge, results
from grader.engine.score import Results, RungResult, TaskResult
from grader.report.progress.next_step import next_step
from grader.verdicts import Verdict
from tests import put

STARTER, MINE = "the starter\n", "mine\n"


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Task, Task]:
    """gelu with one file, right when it was graded, and add that nobody has graded."""
    monkeypatch.setenv("CONVLAB_BUILD", str(tmp_path / "build"))
    made = []
    for operator, text in (("gelu", MINE), ("add", STARTER)):
        file = put(tmp_path / f"labs/02_naive_c/{operator}/00_definition.c", text)
        task = Task("02_naive_c", operator, "c", 7.0, core=True)
        monkeypatch.setattr(Rung, "shown", property(lambda one: one.file.name))
        made.append(replace(task, rungs=(Rung(task.id, file),)))
    for name in ("all_tasks", "offered_tasks"):
        monkeypatch.setattr(merge, name, lambda: tuple(made))
    return made[0], made[1]


def graded(task: Task) -> Results:
    """Written and read again, as a later command finds it."""
    checks = (
        CheckResult("forward", "forward", Verdict.PASS),
        CheckResult("gradient", "backward", Verdict.PASS),
    )
    result = TaskResult(task, (RungResult(task.rungs[0], checks),))
    results.make_folder(results.folder())
    results.write(merge.merged([result], 7))
    found = results.read()
    assert found
    return found


def test_a_file_that_is_its_starter_again_counts_nothing(
    course: tuple[Task, Task],
) -> None:
    whole = graded(course[0])
    now = merge.standing(whole)
    assert now and now.total("points", core=True) == 7 and not merge.stale(whole)
    assert next_step(whole, course).task == "02_naive_c/add"
    course[0].rungs[0].file.write_text(STARTER)
    now = merge.standing(whole)
    assert now and now.total("points", core=True) == 0
    assert merge.stale(whole) == ["02_naive_c/gelu/00_definition"]
    assert next_step(whole, course).task == "02_naive_c/gelu"


def test_what_counts_is_of_the_whole_course(course: tuple[Task, Task]) -> None:
    now = merge.standing(graded(course[0]))
    assert now and now.total("of", core=True) == 14


def test_another_run_does_not_keep_what_is_stale(course: tuple[Task, Task]) -> None:
    graded(course[0])
    course[0].rungs[0].file.write_text(STARTER)
    whole = merge.merged([TaskResult(course[1], ())], 8)
    assert whole.total("points", core=True) == 0
