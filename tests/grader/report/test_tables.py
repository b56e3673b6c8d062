# SPDX-License-Identifier: MIT
"""Tables of measurements in READMEs: always those of docs/results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader.errors import GraderError
from grader.report import tables

ROW = {
    "task": "03/conv2d", "part": "forward", "threads": 1, "ms": 1.25, "gflops": 80.0,
    "percent_of_peak": 50.0, "error": 2e-6, "pytorch_error": 3e-7,
    "others": {"slow2d": 3.0},
}  # fmt: skip
ROWS = [
    {**ROW, "rung": "03/conv2d/00_a", "case": "r28", "ratio": 0.05, "by": ["x/00_a"]},
    {**ROW, "rung": "03/conv2d/01_b", "case": "r28", "ratio": 2.5, "by": ["x/01_b"]},
    {**ROW, "rung": "03/conv2d/00_a", "case": "r14", "ratio": 1.5, "by": ["x/00_a"]},
    {**ROW, "rung": "03/conv2d/01_b", "case": "r14", "by": [], "verdict": "TIMEOUT"},
]
RESULT = {
    "command": "make bench T=x SEED=1",
    "environment": {"cpu": "a cpu", "compiler": "cc", "torch": "2",
                    "machine": {"fma_gflops": 160.4}},
    "rows": ROWS,
}  # fmt: skip
PAGE = "before\n<!-- bench x.json {} -->\nold\n<!-- end bench -->\nafter\n"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    (tmp_path / "bench_x.json").write_text(json.dumps(RESULT))
    return tmp_path


def test_ratios_show_cases_down_and_rungs_across(results: Path) -> None:
    made = tables.filled(PAGE.format("ratios forward"), results)
    assert "| case | 00_a | 01_b |" in made
    assert "| `r28` | 0.050 | **2.50** |" in made
    assert "| `r14` | **1.50** | — |" in made
    assert "160 GFLOP/s. Made by `make bench T=x SEED=1`." in made
    assert made.startswith("before\n") and made.endswith("<!-- end bench -->\nafter\n")
    assert "old" not in made
    assert tables.filled(made, results) == made


def test_a_ladder_shows_rungs_down_and_cases_across(results: Path) -> None:
    made = tables.filled(PAGE.format("ladder forward"), results)
    assert "| rung | `r28` | `r14` |\n| --- | --: | --: |" in made
    assert "| `00_a` | 0.050 | **1.50** |" in made
    assert "| `01_b` | **2.50** | — |" in made


def test_a_rung_is_shown_with_who_computed_it_and_its_errors(results: Path) -> None:
    made = tables.filled(PAGE.format("rung 01 forward"), results)
    line = "| `r28` | forward | 01_b | 1.25 | 80 | 50 | 2.50 | 3.00 | 2e-06 | 3e-07 |"
    assert line in made


@pytest.mark.parametrize(
    ("marker", "sentence"),
    [("bars forward", "kind 'bars' is not known"), ("", "")],
)
def test_a_marker_that_cannot_be_filled_is_told(
    results: Path, marker: str, sentence: str
) -> None:
    page = PAGE.format(marker or "ratios forward")
    with pytest.raises(GraderError, match=sentence or "run make bench"):
        tables.filled(page, results if marker else results / "none")


def test_every_page_shows_what_docs_results_holds() -> None:
    names = {page.relative_to(tables.ROOT).as_posix() for page in tables.pages()}
    lab = "03_im2col_cpu"
    assert {f"labs/{lab}/README.md", f"docs/results/{lab}.md"} <= names
    for page in tables.pages():
        assert tables.filled(page.read_text()) == page.read_text(), "make tables"
