# SPDX-License-Identifier: MIT
"""`make diff` compares a file with the nearest lower one of the same direction."""

from __future__ import annotations

import pytest

from grader.commands import cli
from grader.course.lower_rung import below, body, defined
from grader.course.tasks import all_tasks
from grader.report import terminal

MATMUL = "03_im2col_cpu/matmul"


def said(wanted: str, capsys: pytest.CaptureFixture[str]) -> str:
    terminal.console.file = None  # type: ignore[assignment]  # today's stdout
    assert cli.main(["diff", wanted]) == 0
    return capsys.readouterr().out


def refused(wanted: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert cli.main(["diff", *wanted]) == 2
    return " ".join(capsys.readouterr().err.split())


def test_what_is_new_and_gone_is_shown_without_head_comments(
    capsys: pytest.CaptureFixture[str],
) -> None:
    task = next(task for task in all_tasks() if task.id == MATMUL)
    lower, rung = task.rungs[0], task.rungs[1]
    text = said(rung.id, capsys)
    lines = text.splitlines()
    assert lines[0] == f"--- {lower.shown}" and lines[1] == f"+++ {rung.shown}"
    added = [line[1:] for line in lines[2:] if line.startswith("+")]
    assert added and set(added) <= set(body(rung.file.read_text()))
    assert "expect" not in text and f"{len(added)} lines are new" in text


def test_the_rung_below_defines_the_same_direction() -> None:
    for task in all_tasks():
        for rung in task.rungs if task.language in ("c", "cuda") else ():
            other = below(rung, task)
            if other:
                assert other.id < rung.id and defined(other) & defined(rung)
                between = [r for r in task.rungs if other.id < r.id < rung.id]
                assert not any(defined(r) & defined(rung) for r in between)


def test_what_cannot_be_compared_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no lower file" in refused([f"{MATMUL}/00"], capsys)
    assert f"{MATMUL}/01" in refused([MATMUL], capsys)
    assert "name one rung" in refused([], capsys)


def test_a_head_comment_is_left_out_in_every_language() -> None:
    assert body("/* 00 x\n *\n */\nint a;\n") == ["int a;"]
    assert body("# one\n# two\nx = 1\n") == ["x = 1"]
    assert body("int a;\n/* later */\n") == ["int a;", "/* later */"]
