# SPDX-License-Identifier: MIT
"""What CHECK= of `make grade` may be."""

from __future__ import annotations

import pytest

from grader.commands import cli, grade


@pytest.mark.parametrize(
    ("word", "check"), [("forward", "forward"), ("backward", "gradient")]
)
def test_a_column_of_the_table_chooses_its_check(word: str, check: str) -> None:
    args = cli.parser().parse_args(["grade", "--check", word])
    assert grade.CHECKS.get(args.check, args.check) == check
