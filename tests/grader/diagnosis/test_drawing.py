# SPDX-License-Identifier: MIT
"""Which case is drawn, and that the drawing holds its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from grader.diagnosis.drawing import COLUMNS, FEWEST, ROWS, draw
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
