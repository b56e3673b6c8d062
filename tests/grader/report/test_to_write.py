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
GIVEN = (
    "leaves 'grad_input' to given/x86-64-v2/conv2d in each of the 24 cases with the "
    "most work (all); a given object earns no points: write backward in "
    "00_unfold_gemm.c first, it then computes 'grad_input' for this file"
)
FALLBACK = "leaves every case to a lower file, given/x86-64-v2/conv2d"
RIGHT = CheckResult("gradient", "backward", Verdict.PASS, "f32", 24)
NOT_YET = CheckResult("gradient", "backward", Verdict.NOT_IMPLEMENTED)


def found(rung: Rung, message: str) -> RungResult:
    """A file whose numbers are right, and that is not written for some reason."""
    return RungResult(rung, (RIGHT, replace(NOT_YET, message=message)))


def told(task: Task, result: RungResult) -> str:
    results = [TaskResult(task, (result,))]
    return " ".join(to_write.lines(results, result, result.checks[-1]))


@pytest.mark.parametrize(
    ("message", "file"),
    [
        (GIVEN, "00_unfold_gemm.c"),
        (FALLBACK, "04_pixel_gemm.c"),
        ("square: not written yet", "04_pixel_gemm.c"),
    ],
)
def test_next_is_the_file_that_has_to_come_first(message: str, file: str) -> None:
    said = told(CONV2D, found(PIXELS, message))
    assert f"backward in labs/03_im2col_cpu/conv2d/{file}, then run" in said
    reason = f"04_pixel_gemm.c {message}."
    assert (reason in said) == ("not written yet" not in message)


def test_a_file_that_is_not_counted_says_why_also_where_another_one_is_next() -> None:
    first = RungResult(CONV2D.rungs[0], (replace(NOT_YET, message="not written yet"),))
    task = TaskResult(CONV2D, (first, found(PIXELS, GIVEN)))
    said = to_write.lines([task], first, first.checks[0])
    assert said[0] == f"04_pixel_gemm.c {GIVEN}."
    assert said[1].startswith("Next: write backward in labs/03_im2col_cpu/conv2d/00")


@pytest.mark.parametrize("message", [GIVEN, FALLBACK])
def test_watch_says_of_a_right_file_what_it_leaves_to_others(message: str) -> None:
    result = found(PIXELS, message)
    view = View((CONV2D,), (PIXELS,), checks=list(result.checks), result=result)
    console = Console(width=100, height=30, record=True, file=io.StringIO())
    console.print(Screen(view))
    said = " ".join(console.export_text().split())
    assert message in said and "still returns STATUS_NOT_IMPLEMENTED" not in said
