# SPDX-License-Identifier: MIT
"""`make bench T=05_torch_extension/lltm`: every way right, a line each; no time."""

from __future__ import annotations

import json

import pytest
import torch

from grader.bench import extension_cell, request
from grader.bench.ladders import Wanted
from grader.checks.speed import timing
from grader.course import tasks
from grader.errors import GraderError
from grader.toolchain import isa
from tests.labs import extension

CASE = "small"
T = "T=05_torch_extension/lltm"
ONE = Wanted("05", f"{T} CASES={CASE}", 1, cases=(CASE,))


@pytest.fixture
def short(tools, monkeypatch):
    """convlab_ext, imported, and few rounds."""
    extension.package()
    monkeypatch.setattr(extension_cell, "BUDGET", 0.01)
    monkeypatch.setattr(timing, "ROUNDS", 2)
    monkeypatch.setattr(timing, "ROUNDS_SLOW", 2)


def rows(said: str) -> list[list[str]]:
    """The cells of the table's rows."""
    lines = [line for line in said.splitlines() if line.startswith(f"| {CASE} |")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def test_every_way_has_a_line_for_both_directions(short, capsys):
    assert extension_cell.bench(ONE) == 0
    said = capsys.readouterr().out
    ways = [extension_cell.PYTORCH, extension_cell.PYTHON, extension_cell.OPERATOR]
    ways += [extension_cell.CARD] * torch.cuda.is_available()
    found = [row[1:3] for row in rows(said)]
    assert found == [[part, way] for part in extension_cell.PARTS for way in ways]
    assert f"Made by `make bench {T} CASES={CASE} SEED=1`" in said
    assert "written" not in said
    if not torch.cuda.is_available():
        assert "| CUDA, labs 04 and 05 | pending: no GPU here |" in said


def test_a_wrong_cell_has_no_time(short, capsys, monkeypatch):
    monkeypatch.setattr(extension_cell, "_error", lambda *_: 1.0)
    assert extension_cell.bench(ONE) == 1
    assert {row[3] for row in rows(capsys.readouterr().out)} == {"WRONG_VALUE"}


def test_the_numbers_and_the_page_are_written(monkeypatch, tmp_path):
    monkeypatch.setattr(request, "folder", lambda: tmp_path)
    assert len(extension_cell._write({"lines": []}, "# page\n")) == 2
    assert json.loads((tmp_path / f"lltm{isa.suffix()}.json").read_text()) == {
        "lines": []
    }
    assert (tmp_path / f"lltm{isa.suffix()}.md").read_text() == "# page\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [({"cases": ("none",)}, "CASES=none"), ({"parts": ("grad_h",)}, "PARTS=grad_h")],
)
def test_what_is_not_there_is_told(short, words, sentence):
    with pytest.raises(GraderError, match=sentence):
        extension_cell.bench(Wanted("05", T, 1, **words))


def test_the_command_knows_the_cell_by_its_task():
    (task,) = tasks.select("05_torch_extension/lltm", None).tasks
    assert task.id == f"05_torch_extension/{extension_cell.NAME}"
