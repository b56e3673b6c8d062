# SPDX-License-Identifier: MIT
"""The table of `make bench` fits the terminal, and loses no verdict."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.bench.ladder_table import COLUMNS, fitted
from grader.bench.request import Row
from grader.checks.speed.estimate import Estimate, Speed
from grader.course.rungs import Rung
from grader.course.tasks import select
from grader.report import terminal
from grader.verdicts import Verdict

RUNGS = select("03_im2col_cpu/conv2d").tasks[0].rungs


def row(rung: Rung, verdict: Verdict = Verdict.PASS) -> Row:
    timed = verdict in (Verdict.PASS, Verdict.NOISY)
    words = {"ratio": Estimate(1.234, 1.2, 1.25), "rounds": 31} if timed else {}
    found = Speed(
        "resnet_56x56", "backward", verdict, "pytorch/oneDNN", errors=(3e-7, 2e-7),
        **({"ms": 123.456, "gflops": 98.76, "percent_of_peak": 54.3} if timed else {}),
        **words,
    )  # fmt: skip
    return Row(rung, "grad_weight", (RUNGS[1].id, RUNGS[2].id), found)


ROWS = [
    *map(row, RUNGS[:3]),
    row(RUNGS[3], Verdict.NOISY),
    row(RUNGS[4], Verdict.TIMEOUT),
]


@pytest.mark.parametrize("width", [80, 100, 120, 160, 200])
def test_every_line_fits_and_says_what_came_of_it(width: int) -> None:
    lines, said = fitted(ROWS, width)
    assert max(map(len, lines)) <= width
    assert {len(line) for line in lines} == {len(lines[0])}
    for name in ("rung", "part", "case", "ms", "x PyTorch"):
        assert re.search(rf"\| *{name} *\|", lines[0])
    assert "TIMEOUT" in lines[-1] and "NOISY" in lines[-2]
    lost = [
        name for name in COLUMNS if not re.search(rf"\| *{re.escape(name)}", lines[0])
    ]
    text = " ".join(said)
    assert all(name in text for name in lost)
    assert "rungs of 03_im2col_cpu/conv2d" in text


def test_a_file_gets_everything() -> None:
    lines, said = fitted(ROWS, None)
    assert len(lines[0]) > 160 and not said
    assert all(name in lines[0] for name in COLUMNS)
    assert RUNGS[0].id in lines[2]


def test_a_pipe_has_no_width_but_what_columns_says(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert terminal.width() is None
    monkeypatch.setenv("COLUMNS", "70")
    assert terminal.width() == terminal.console.width
