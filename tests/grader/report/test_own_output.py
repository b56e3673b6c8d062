# SPDX-License-Identifier: MIT
"""What a file printed stands behind a bar, in the terminal and in `make watch`."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from grader.checks.check_result import CheckResult
from grader.checks.printed import Printed, keep, of_case
from grader.course.tasks import all_tasks
from grader.engine.answers import as_json
from grader.engine.score import RungResult
from grader.verdicts import Verdict
from grader.watch.screen import Screen
from grader.watch.view import View

TASK = next(task for task in all_tasks() if task.id == "02_naive_c/gelu")
SAYS = Printed("small", ("x is 3", "PASS  forward"), more=True)
RIGHT = CheckResult("forward", "forward", Verdict.PASS, "f32", 20, printed=SAYS)
WRONG = replace(RIGHT, verdict=Verdict.WRONG_VALUE, message="small: 'output' ...")
UNWRITTEN = replace(RIGHT, verdict=Verdict.NOT_IMPLEMENTED, message="not written yet")


@pytest.mark.parametrize("check", [RIGHT, WRONG, UNWRITTEN])
def test_watch_shows_it_whatever_came_of_the_file(check: CheckResult) -> None:
    rung = TASK.rungs[0]
    result = RungResult(rung, (check,))
    view = View((TASK,), (rung,), checks=[check], result=result)
    console = Console(width=80, height=24, file=io.StringIO(), record=True)
    console.print(Screen(view))
    lines = [line.strip() for line in console.export_text().splitlines()]
    at = lines.index("the file itself printed, in case small:")
    assert lines[at + 1 : at + 4] == ["| x is 3", "| PASS  forward", "| ..."]


def test_it_is_kept_and_read_again() -> None:
    assert as_json.check(as_json.check_entry(RIGHT)) == RIGHT
    assert "printed" not in as_json.check_entry(replace(RIGHT, printed=None))


def test_it_is_that_of_the_case_that_failed_without_control_characters() -> None:
    words: dict[str, tuple[bytes, int]] = {}
    keep(words, "first", (b"one", 0))
    keep(words, "silent", (b" \n", 0))
    keep(words, "second", (b"\x1b[31mtwo\x00\r\n" + b"y" * 200, 0))
    keep(words, "second", (b"in float64", 0))
    assert of_case(words, None) == Printed("first", ("one",), more=False)
    assert of_case(words, "silent") == of_case(words, None)
    second = Printed("second", ("?[31mtwo??", "y" * 100), more=True)
    assert of_case(words, "second") == second
    assert of_case({}, "second") is None


def test_what_faulthandler_says_is_not_the_files() -> None:
    words: dict[str, tuple[bytes, int]] = {}
    keep(words, "a", (b"Fatal Python error: Segmentation fault\n", 0))
    assert not words
