# SPDX-License-Identifier: MIT
"""A student can write a rung: its gaps are short, and the page of them is true."""

from __future__ import annotations

import pytest

from tests.house import rungs
from tests.house.rungs import Rung
from tests.house.test_style import none

GAP, WRITTEN = 25, 90  # lines of one gap, and of all gaps of a rung


def asks_too_much(rung: Rung) -> bool:
    """Whether a gap is too wide, or all of them together are too much."""
    return rung.widest > GAP or rung.written > WRITTEN


def test_a_gap_has_at_most_25_lines_and_a_rung_at_most_90_to_write():
    none(
        [
            f"{rung.name}: {rung.written} lines to write, in gaps of "
            f"{', '.join(map(str, rung.gaps))}: divide it, or give a part"
            for rung in rungs.counted()
            if asks_too_much(rung)
        ]
    )


def test_the_page_is_what_is_counted():
    assert rungs.FILE.read_text() == rungs.page(), (
        "write it again: python -m tests.house.rungs"
    )


@pytest.mark.parametrize(
    ("gaps", "over"),
    [((25, 25, 25, 15), False), ((26,), True), ((25, 25, 25, 16), True)],
)
def test_the_limits_are_limits(gaps: tuple[int, ...], over: bool):
    assert asks_too_much(Rung("02_naive_c/add/00_x", 100, gaps, None)) is over


def test_comments_and_blanks_are_no_lines_and_a_moved_line_is_not_new(
    monkeypatch: pytest.MonkeyPatch,
):
    texts = {
        "lower": "/* a\n * b */\nint x;\nint y;  // why\n",
        "upper": "int y;\n\n// int z;\nint x;\nint y;\n",
    }
    monkeypatch.setattr(rungs, "text", texts.__getitem__)
    assert rungs.code_lines(texts["lower"]) == ["int x;", "int y;"]
    assert rungs.fresh("upper", ["lower"]) == ["int y;"]
    assert rungs.fresh("lower", ["upper"]) == []
