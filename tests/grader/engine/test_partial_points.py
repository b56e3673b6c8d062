# SPDX-License-Identifier: MIT
"""Points for files that cover some cases only: what right files cover together."""

from __future__ import annotations

import dataclasses

import pytest

from grader.checks.check_result import CheckResult
from grader.engine.score import RungResult
from grader.report.terminal import _cells
from grader.verdicts import Verdict
from tests.grader.engine.test_score import rung, task


def partial(left: dict[str, tuple[str, ...]]) -> RungResult:
    """A right forward: 4 families of 4 results, and those that it leaves."""
    families = dict.fromkeys(("plain", "stride", "groups", "empty"), 4)
    cases = 16 - sum(map(len, left.values()))
    named = {"cases": cases, "of": 16, "asked": families, "left": left}
    check = CheckResult("forward", "forward", Verdict.PASS, "f32", **named)
    return dataclasses.replace(rung(), checks=(check,))


ALL_OF_IT = ("a output", "b output", "c output", "d output")


@pytest.mark.parametrize(
    ("files", "share"),
    [
        pytest.param([{"stride": ALL_OF_IT}], 3 / 4, id="one_family_is_missing"),
        pytest.param([{"plain": ALL_OF_IT[:2]}], 7 / 8, id="half_of_one"),
        pytest.param(
            [{"stride": ALL_OF_IT[:2]}, {"stride": ALL_OF_IT[1:]}],
            15 / 16,
            id="two_files_together",
        ),
        pytest.param([{"stride": ALL_OF_IT}, None], 1, id="beside_a_complete_file"),
    ],
)
def test_points_for_what_right_files_cover_together(files, share):
    rungs = [rung("PASS") if left is None else partial(left) for left in files]
    whole = task(rung("PASS"))
    found = dataclasses.replace(whole, rungs=tuple(rungs))
    assert found.points == pytest.approx(share * whole.points)


def test_few_families_do_not_earn_everything():
    """No family counts for more than a third."""
    check = partial({"plain": ALL_OF_IT}).checks[0]
    few = dataclasses.replace(check, asked={"plain": 4, "layout": 4})
    whole = task(rung("PASS"))
    one = dataclasses.replace(rung(), checks=(few,))
    found = dataclasses.replace(whole, rungs=(one,))
    assert found.points == pytest.approx(whole.points / 3)


def test_the_table_says_how_many_cases_a_file_covers():
    (cell, other) = _cells(partial({"stride": ALL_OF_IT}))
    assert (cell.plain, other.plain) == ("PASS 12 of 16", "-")
