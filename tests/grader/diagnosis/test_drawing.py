# SPDX-License-Identifier: MIT
"""Which case is drawn, and that the drawing holds its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.course.tasks import select
from grader.diagnosis.drawing import COLUMNS, FEWEST, ROWS, draw
from grader.engine.checking.rung_checker import Checker
from grader.toolchain import given
from tests.grader.diagnosis.test_symptoms import trials_of

T = torch.Tensor


def last_row_wrong(right: T, inputs: Mapping[str, T], p: Mapping[str, Any]) -> T:
    made = right.clone()
    made[..., -1, :] += 1
    return made


def test_the_drawing_holds_the_numbers_of_its_case():
    trials = trials_of("conv2d", last_row_wrong)
    drawn = draw([t for t in trials if t.failed])
    assert drawn
    given, came, right = drawn.planes
    (trial,) = [t for t in trials if t.case.name == drawn.case]
    assert "padding (" in drawn.sizes and "'input' of shape [" in drawn.sizes
    assert trial.got
    assert len(came.values) * len(came.values[0]) >= FEWEST
    assert (
        came.wrong
        == right.wrong
        == ("." * len(came.wrong[0]),) * (len(came.wrong) - 1)
        + ("#" * len(came.wrong[0]),)
    )
    assert abs(came.values[-1][0] - right.values[-1][0] - 1) < 0.02
    assert given.title == "input[0, 0] given" and not given.wrong


def test_a_large_result_is_cut_around_the_first_wrong_element():
    def far(right: T, inputs: Mapping[str, T], p: Mapping[str, Any]) -> T:
        made = right.clone()
        if right.numel() and right.shape[-1] > COLUMNS + 4:
            made[..., COLUMNS + 3] += 1
        return made

    drawn = draw([t for t in trials_of("matmul", far) if t.failed])
    assert drawn
    came = drawn.planes[1]
    assert came.more and len(came.values) <= ROWS and len(came.values[0]) == COLUMNS
    assert all("#" in row for row in came.wrong)


def test_nothing_wrong_draws_nothing():
    trials = trials_of("gelu", lambda right, inputs, p: right)
    assert draw(trials) is None


@pytest.mark.parametrize("seed", [876782, 1, 2])
def test_what_only_float_shows_is_drawn_in_float(tools: Path, seed: int):
    """In double the digits that cancel here leave the first three as they were."""
    wanted = select("02_naive_c/bug_hunt/02_two_sums")
    (rung,) = [r for t in wanted.tasks for r in t.rungs if r.id in wanted.rungs]
    with Checker(wanted, seed=seed) as checker:
        (check, *_) = checker.checked_rung(given.broken(rung)).checks
    assert check.heat and not check.heat.is_pale
    _, came, right = check.heat.planes
    assert ("is nan" in check.message) == any(None in row for row in came.values)
    assert all(value is not None for row in right.values for value in row)
