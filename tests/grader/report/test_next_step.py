# SPDX-License-Identifier: MIT
"""What is said to be next is true, and is the most useful thing to do."""

from __future__ import annotations

import re
from typing import Any

import pytest

from grader.course.exhibits import CASE_CHECK
from grader.course.rungs import ROOT
from grader.course.tasks import all_tasks
from grader.engine.answers import as_json
from grader.engine.next_task import FIRST_LAB, in_turn, lab_of
from grader.engine.score import Results
from grader.report import page, terminal
from grader.report.progress.next_step import NextStep, next_step
from grader.toolchain import given
from grader.watch.view import View
from tests.grader.engine import results as made
from tests.grader.report.test_report import CONV2D, one_file, rendered

TASKS = all_tasks()
HUNT = next(task for task in TASKS if task.is_hunt)
EXPOSED = dict(made.passing()[0], name=CASE_CHECK, direction=CASE_CHECK)
FIRST_CORE = next(t for t in TASKS if t.core and t.id.startswith(FIRST_LAB))


def whole() -> dict[str, Any]:
    """Every task of the course right, as the files are now."""
    shas = {rung.id: rung for task in TASKS for rung in task.rungs}
    tasks = []
    for task in TASKS:
        rungs = [
            {
                "id": rung.id,
                "file": rung.shown,
                "sha256": shas[rung.id].sha256,
                "uses": {},
                "checks": made.passing() + ([EXPOSED] if rung.exhibit else []),
                "speed": [],
            }
            for rung in task.rungs
        ]
        tasks.append(
            {"id": task.id, "points": task.points, "pending": 0, "of": task.points,
             "core": task.core, "rungs": rungs}
        )  # fmt: skip
    return {"schema": 1, "seed": 1, "environment": {}, "tasks": tasks}


def step(found: dict[str, Any]) -> NextStep:
    results: Results = as_json.results(found)
    return next_step(results, TASKS)


def break_it(found: dict[str, Any], task: str, verdict: str) -> dict[str, Any]:
    """The first file's forward has this verdict, and no other file of the task is
    there.
    """
    entry = next(t for t in found["tasks"] if t["id"] == task)
    entry["rungs"] = entry["rungs"][:1]
    entry["rungs"][0]["checks"][0]["verdict"] = verdict
    return entry


def test_without_results_it_is_the_first_file_of_the_core_path() -> None:
    found = next_step(None, TASKS)
    assert found.file == FIRST_CORE.rungs[0].shown
    assert "core path" in found.reason
    assert found.command == f"make watch T={FIRST_CORE.id}"


def test_after_a_lab_was_graded_its_own_files_come_first() -> None:
    """Points in another lab change nothing, and the core path stays first."""
    begun = whole()
    for entry in begun["tasks"]:
        if not entry["id"].startswith("01"):
            entry["rungs"] = []
    results = as_json.results(begun)
    for lab in ("03_im2col_cpu", "05_torch_extension"):
        found = next_step(results, TASKS, {lab})
        assert found.task == next(t.id for t in TASKS if t.core and lab_of(t) == lab)
    assert next_step(results, TASKS).task == FIRST_CORE.id
    for entry, old in zip(begun["tasks"], whole()["tasks"]):
        if entry["core"] and entry["id"].startswith("03"):
            entry["rungs"] = old["rungs"]
    found = next_step(as_json.results(begun), TASKS, {"03_im2col_cpu"})
    assert found.task == FIRST_CORE.id  # the core path of lab 03 is done


def test_unchanged_files_are_counted_in_a_right_sentence() -> None:
    assert terminal.reused(1, 1).startswith(
        "the file has not changed since an earlier grading: its results are from then"
    )
    assert terminal.reused(1, 3).startswith("1 of 3 files has not changed")
    assert ": its results are from then" in terminal.reused(1, 3)
    assert terminal.reused(2, 3).startswith("2 of 3 files have not changed")
    assert ": their results are from then" in terminal.reused(2, 3)


def test_where_all_is_right_nothing_is_left() -> None:
    assert step(whole()).file == ""


def test_what_is_begun_and_wrong_comes_before_what_is_not_written() -> None:
    found = whole()
    break_it(found, FIRST_CORE.id, "NOT_IMPLEMENTED")
    break_it(found, "03_im2col_cpu/conv2d", "WRONG_VALUE")
    next_one = step(found)
    assert next_one.task == "03_im2col_cpu/conv2d"
    assert next_one.reason == "you have begun it: forward is WRONG_VALUE"


def test_a_file_that_has_changed_since_is_not_called_wrong() -> None:
    found = whole()
    entry = break_it(found, "03_im2col_cpu/conv2d", "CRASH")
    entry["rungs"][0]["sha256"] = "another"
    assert "it has changed since forward was CRASH" in step(found).reason


def test_a_wrong_file_beside_a_right_one_costs_nothing() -> None:
    found = whole()
    entry = next(t for t in found["tasks"] if t["id"] == "03_im2col_cpu/conv2d")
    entry["rungs"][0]["checks"][0]["verdict"] = "WRONG_VALUE"
    assert step(found).file == ""


def test_the_core_path_comes_before_what_is_extra() -> None:
    found = whole()
    extra = next(task for task in TASKS if not task.core)
    last = [task for task in TASKS if task.core][-1]
    break_it(found, extra.id, "NOT_IMPLEMENTED")
    assert "beyond the core path" in step(found).reason
    break_it(found, last.id, "NOT_IMPLEMENTED")
    assert step(found).task == last.id and "forward in it" in step(found).reason


@pytest.mark.parametrize("touched", [False, True])
def test_an_exhibit_counts_as_begun_once_it_has_been_changed(
    monkeypatch: pytest.MonkeyPatch, touched: bool
) -> None:
    monkeypatch.setattr(given, "is_untouched", lambda rung: not touched)
    found = whole()
    rung = next(t for t in found["tasks"] if t["id"] == HUNT.id)["rungs"][0]
    rung["checks"][0]["verdict"] = "WRONG_VALUE"
    begun = "you have begun it: forward is WRONG_VALUE"
    left = "a bug to find, worth 0.5 points beyond the core path"
    assert step(found).reason == (begun if touched else left)
    assert step(found).file == HUNT.rungs[0].shown


def test_a_repair_without_a_case_leaves_the_other_half() -> None:
    found = whole()
    next(t for t in found["tasks"] if t["id"] == HUNT.id)["rungs"][0]["checks"].pop()
    next_one = step(found)
    assert next_one.reason == "a bug to find, worth 0.5 points beyond the core path"
    assert next_one.command == f"make watch T={HUNT.rungs[0].id}"


def test_one_lab_to_begin_with_is_told_everywhere() -> None:
    """By the README, the guide, make progress, make grade and make watch."""
    for file in ("README.md", "docs/guides/first_hour.md"):
        text = (ROOT / file).read_text()
        assert text.index(f"make grade LAB={FIRST_LAB[:2]}") < text.index("make watch")
    assert next_step(None, TASKS).task == FIRST_CORE.id
    files = tuple(rung for task in TASKS for rung in task.rungs)
    view = View(tuple(TASKS), files)
    assert files[view.first_to_do({})].task == FIRST_CORE.id
    unwritten = [made.check("forward", "forward", "NOT_IMPLEMENTED")]
    found = whole()
    for entry in found["tasks"]:
        entry["points"] = 0
        entry["rungs"] = [dict(r, checks=unwritten) for r in entry["rungs"]]
    with terminal.console.capture() as said:
        terminal.advice(list(as_json.results(found).tasks))
    assert f"make grade T={FIRST_CORE.id}\n" in said.get()


def test_who_has_points_in_a_lab_goes_on_there() -> None:
    fourth = next(t for t in TASKS if t.core and t.id.startswith("04"))
    first, *_, last = in_turn(TASKS, {fourth.id: 1.0, "02_naive_c/gelu": 0.0})
    assert first.core and first.id.startswith("04") and not last.core
    both = in_turn(TASKS, {fourth.id: 1.0, "03_im2col_cpu/matmul": 2.0})
    labs = dict.fromkeys(task.id[:2] for task in both)
    assert list(labs)[:3] == ["03", "04", "02"]


# ---- on the page -----------------------------------------------------------


def test_what_is_wrong_comes_before_points(tmp_path):
    text = rendered(one_file(tmp_path, "\n" * 9), tmp_path)
    first = text[text.index('id="next"') : text.index('id="labs"')]
    assert "02_naive_c/gelu/00_definition" in first and ">WRONG_VALUE<" in first
    assert 'href="#02-naive-c-gelu"' in first


def test_where_nothing_is_wrong_the_next_file_comes_first():
    text = rendered(made.whole([made.task(CONV2D, [made.rung(CONV2D, 0)])]))
    first = text[text.index('id="next"') : text.index('id="labs"')]
    assert re.search(r"Next: labs/[\w/.]+: ", first) and "make watch T=" in first


def test_a_task_that_is_partly_written_shows_its_points():
    entry = made.rung(CONV2D, 0)
    todo = made.check("backward", "backward", verdict="NOT_IMPLEMENTED")
    entry["checks"] = [c for c in entry["checks"] if c["direction"] == "forward"]
    entry["checks"].append(todo)
    task = made.task(CONV2D, [entry], points=2.0)
    shown = page.task_outcome(as_json.results(made.whole([task])).tasks[0])
    assert (shown.kind, shown.word) == ("todo", f"2 of {task['of']:g}")
