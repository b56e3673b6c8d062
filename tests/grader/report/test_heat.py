# SPDX-License-Identifier: MIT
"""A wrong result in a terminal: shades, and a map of what is wrong."""

from __future__ import annotations

import io
import sys
from dataclasses import replace

import pytest

from grader.checks.heat_map import SHADES, HeatMap, Plane, heat_map, levels
from grader.report.failure import heat

GIVEN = Plane("input given", ((0.0, 100.0), (50.0, 0.0)))
CAME = Plane("output came", ((1.0, 2.0), (9.0, 3.0)), ("..", "#."))
RIGHT = Plane("output expected", ((1.0, 2.0), (1.0, 3.0)), ("..", "#."))
DRAWN = HeatMap("odd", (GIVEN, CAME, RIGHT))


def lines(drawn: HeatMap, width: int = 80) -> list[str]:
    return [line.plain.rstrip() for line in heat.blocks(drawn, width)]


def test_planes_stand_side_by_side_with_a_map_of_what_is_wrong():
    about, head, first, second = lines(DRAWN)
    assert about == "case odd:"
    assert head.split("   ") == ["input given", "output came", "output expected",
                                 "wrong: X"]  # fmt: skip
    assert first.endswith("--") and second.endswith("X-")


def test_what_came_and_what_was_expected_share_a_scale():
    given, came, right = levels(DRAWN.planes, 5)
    assert given == [[0, 4], [2, 0]]
    assert came == [[0, 0], [4, 1]] and right == [[0, 0], [0, 1]]


def test_a_drawing_of_equal_shades_tells_only_where_elements_are_wrong():
    assert not DRAWN.is_pale and DRAWN.tells
    close = replace(RIGHT, values=((1.001, 2.0), (1.0, 3.0)))
    part = HeatMap("odd", (GIVEN, close, RIGHT))
    assert part.is_pale and part.tells
    all_wrong = [replace(plane, wrong=("##", "##")) for plane in (close, RIGHT)]
    assert not HeatMap("odd", (GIVEN, *all_wrong)).tells
    assert len(heat.SHADES) == SHADES


def test_a_narrow_terminal_leaves_out_what_went_in():
    assert "given" not in lines(DRAWN, 45)[1] and "came" in lines(DRAWN, 45)[1]
    assert all(len(line) <= 45 for line in lines(DRAWN, 45))


def test_without_blocks_letters_do(monkeypatch: pytest.MonkeyPatch):
    ascii_only = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", ascii_only)
    text = "\n".join(lines(DRAWN))
    text.encode("ascii")
    assert "#" in text


def test_what_is_not_finite_is_a_question_mark_and_survives_the_ledger():
    plane = Plane("output came", ((None, 1.0),), ("#.",), more=True)
    drawn = HeatMap("case", (plane,))
    about, _, row = lines(drawn)
    assert row.startswith("?")
    assert "a part around" in about and "? is NaN, infinite or not written" in about
    assert heat_map(drawn.entry()) == drawn and heat_map(None) is None
