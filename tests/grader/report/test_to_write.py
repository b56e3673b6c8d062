# SPDX-License-Identifier: MIT
"""What the terminal and `make watch` name to write next where nothing is to mend."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from grader.checks.check_result import CheckResult
from grader.course.rungs import Rung, Task
from grader.course.tasks import all_tasks
from grader.engine.score import RungResult, TaskResult
from grader.report.progress import to_write
from grader.verdicts import Verdict
from grader.watch.screen import Screen
from grader.watch.view import View

CONV2D = next(task for task in all_tasks() if task.id == "03_im2col_cpu/conv2d")
PIXELS = next(rung for rung in CONV2D.rungs if "04_pixel_gemm" in rung.id)
FEWER = (
    "covers 50 of 89 cases. lab.toml says that it covers few_channels (one, two): "
    "compute these cases too"
)
RIGHT = CheckResult("gradient", "backward", Verdict.PASS, "f32", 24)
NOT_YET = CheckResult("gradient", "backward", Verdict.NOT_IMPLEMENTED)


def found(rung: Rung, message: str) -> RungResult:
    """A file that is not written yet for some reason."""
    of = 89 if message == FEWER else 0
    return RungResult(rung, (RIGHT, replace(NOT_YET, message=message, of=of)))


def to_write_words(task: Task, result: RungResult) -> str:
    results = [TaskResult(task, (result,))]
    return " ".join(to_write.lines(results, result, result.checks[-1]))


@pytest.mark.parametrize("message", [FEWER, "square: not written yet"])
def test_next_is_the_file_and_why(message: str) -> None:
    said = to_write_words(CONV2D, found(PIXELS, message))
    assert "backward in labs/03_im2col_cpu/conv2d/04_pixel_gemm.c, then run" in said
    assert (f"04_pixel_gemm.c {message}." in said) == (message == FEWER)


def test_a_file_that_covers_too_little_says_so_also_where_another_is_next() -> None:
    first = RungResult(CONV2D.rungs[0], (replace(NOT_YET, message="not written yet"),))
    task = TaskResult(CONV2D, (first, found(PIXELS, FEWER)))
    said = to_write.lines([task], first, first.checks[0])
    assert said[0] == f"04_pixel_gemm.c {FEWER}."
    assert said[1].startswith("Next: write backward in labs/03_im2col_cpu/conv2d/00")


def test_watch_says_of_a_right_file_what_it_does_not_cover() -> None:
    result = found(PIXELS, FEWER)
    view = View((CONV2D,), (PIXELS,), checks=list(result.checks), result=result)
    console = Console(width=100, height=30, record=True, file=io.StringIO())
    console.print(Screen(view))
    said = " ".join(console.export_text().split())
    assert FEWER in said and "still returns STATUS_NOT_IMPLEMENTED" not in said


def test_after_full_marks_it_says_what_other_files_are_for() -> None:
    right = replace(RIGHT, name="forward", direction="forward")
    full = RungResult(CONV2D.rungs[0], (right, RIGHT))
    more = RungResult(CONV2D.rungs[1], (replace(NOT_YET, message="not written yet"),))
    whole = (CONV2D.points, 0.0)
    for recorded, said in ((whole, True), ((CONV2D.points - 1, 0.0), False)):
        task = TaskResult(CONV2D, (full, more), recorded=recorded)
        lines = to_write.lines([task], more, more.checks[0])
        assert (to_write.FULL_MARKS.format(CONV2D.id) in lines) is said
