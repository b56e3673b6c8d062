# SPDX-License-Identifier: MIT
"""The long proof of many seeds judges as a grading does, and can fail."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from grader.checks.values import fallback
from grader.checks.values.compare import Expected
from grader.course.rungs import DIRECT
from grader.toolchain.make import build_tools
from tests.proofs import pages, stress

WINOGRAD = "03_im2col_cpu/conv2d/10_winograd_4x4"


@pytest.fixture(autouse=True)
def _table_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "RESULTS", tmp_path)
    build_tools()


def test_a_seed_of_winograd_may_round_as_winograd_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stress.seeds(1, only=WINOGRAD) == 0
    (row,) = (tmp_path / "seeds.md").read_text().splitlines()[-1:]
    _, name, count, checks, failures, worst, _ = row.split("|")
    assert (name.strip(), count.strip(), checks.strip()) == (WINOGRAD, "1", "5")
    assert failures.strip() == "0" and 0 < float(worst) < 1

    monkeypatch.setattr(fallback.Classes, "__call__", lambda *_: DIRECT)
    assert stress.seeds(1, only=WINOGRAD) == 1


def test_the_margin_is_that_of_the_class_which_computed_it() -> None:
    got = torch.tensor([1.0, 2.0])
    value, scale = got.double() + 2.0**-22, got.double()
    strict = Expected("output", value, scale)
    loose = Expected("output", value, 8 * scale)
    margin = stress.Margin()
    margin.note(got, strict)
    assert margin.worst == pytest.approx(1.0)
    margin = stress.Margin()
    margin.note(got, Expected("output", value, scale, loose=lambda _: loose))
    assert margin.worst == pytest.approx(1 / 8)
    equal = Expected("output", value)  # integers, say
    margin.note(got, equal)
    assert margin.worst == pytest.approx(1 / 8)
