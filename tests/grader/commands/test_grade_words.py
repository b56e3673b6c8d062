# SPDX-License-Identifier: MIT
"""What CHECK= of `make grade` may be."""

from __future__ import annotations

import pytest

from grader.commands import grade
from grader.course.tasks import select
from grader.errors import GraderError

HUNT = "02_naive_c/bug_hunt/04_last_rows"
DIRECTIONS = "expected forward, backward (gradient is the same) or card"


@pytest.mark.parametrize(
    ("word", "check"),
    [("forward", "forward"), ("backward", "gradient"), ("card", "card")],
)
def test_a_column_of_the_table_chooses_its_check(word: str, check: str) -> None:
    assert grade.checked(word, select(HUNT)) == check


def test_all_is_checked_where_none_is_named() -> None:
    assert grade.checked("", select("")) is None


@pytest.mark.parametrize(
    ("word", "task", "end"),
    [
        ("case", HUNT, f"checked after its repair: make grade T={HUNT}"),
        ("case", "02_naive_c/add", DIRECTIONS),
        ("values", HUNT, DIRECTIONS),
    ],
)
def test_another_word_says_what_it_may_be(word: str, task: str, end: str) -> None:
    with pytest.raises(GraderError) as caught:
        grade.checked(word, select(task))
    said = str(caught.value)
    assert said.startswith(f"CHECK={word}: {DIRECTIONS}") and said.endswith(end)
