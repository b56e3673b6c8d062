# SPDX-License-Identifier: MIT
"""The tour of the exhibits says what lab.toml says now."""

from __future__ import annotations

from grader.commands import tables as museum
from grader.course.exhibits import TOOLS


def test_the_tour_is_up_to_date() -> None:
    text = museum.PAGE.read_text()
    assert museum.filled(text) == text, "make tables"


def test_every_exhibit_is_in_the_tour_and_every_tool_has_a_meaning() -> None:
    text = museum.PAGE.read_text()
    assert [r.id for r in museum.exhibits() if f"`{r.id}`" not in text] == []
    assert tuple(museum.MEANING) == TOOLS
