# SPDX-License-Identifier: MIT
"""Checks the points that many_points.py times."""

from __future__ import annotations

import pytest
import torch

from tests.labs.many_points import FILLED, ORDERS, POINTS, coordinates


@pytest.mark.parametrize("percent", FILLED)
@pytest.mark.parametrize("order", ORDERS)
def test_the_points_are_distinct_cells_and_as_many_as_the_page_says(
    percent: int, order: str
) -> None:
    points = coordinates(percent, order, torch.Generator().manual_seed(percent))
    assert points.shape == (POINTS, 4)
    sides = points.amax(0) + 1
    cells = int(sides.prod())
    assert POINTS / cells == pytest.approx(percent / 100, rel=0.05)
    rows = points.long()
    cell = (rows[:, 1] * sides[2] + rows[:, 2]) * sides[3] + rows[:, 3]
    assert cell.unique().numel() == POINTS
    assert bool((cell.diff() > 0).all()) == (order == "rising")
