# SPDX-License-Identifier: MIT
"""What a file that leaves cases has to compute by itself to be counted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from grader import operators
from grader.checks.values.fallback import Servers
from grader.course.rungs import Rung
from grader.engine.asking import lending
from grader.operators import Case

SEED = 3
GIVEN = "given/x86-64-v2/matmul"
LOWER = "03_im2col_cpu/matmul/04_register_block"
MATMUL = operators.get("matmul")
IN_C, IN_CUDA = (
    Rung("03_im2col_cpu/matmul", Path(f"09_mine.{ending}")) for ending in ("c", "cu")
)
BOTH = ("input", "other")


class Told(Servers):
    """What the file computes by itself, by case: ("output",), or gradients of what. All
    else is somebody's.
    """

    def __init__(self, own: Mapping[str, tuple[str, ...]], others: str) -> None:
        self.operator, self.own, self.others = MATMUL, own, others

    def left(self, rung: Rung, case: Case, direction: str) -> str:
        asked = case.wanted if direction == "backward" else ("output",)
        return (
            "" if set(asked or ()) <= set(self.own.get(case.name, ())) else self.others
        )


@pytest.mark.parametrize(
    ("direction", "own", "others", "says"),
    [
        ("forward", {"blocks": ("output",)}, GIVEN, ()),
        ("forward", {"square": ("output",)}, GIVEN, ()),
        ("forward", {}, LOWER, ("leaves every case to a lower file, " + LOWER,)),
        (
            "forward",
            {"one": ("output",), "row_times_column": ("output",)},
            LOWER,
            (
                "computes small cases in this file (one, row_times_column)",
                "cases with the most work (blocks, ",
                f"to a lower file, {LOWER}. Compute at least one of these",
            ),
        ),
        ("backward", {"tiles": BOTH}, GIVEN, ()),
        ("backward", {"tiles": ("other",)}, LOWER, ()),
        (
            "backward",
            {"tiles": ("other",), "small": BOTH},
            GIVEN,
            (
                f"leaves 'grad_input' to {GIVEN} in each of the ",
                " cases with the most work (",
                "; a given object earns no points: write backward in 00_ijk.c first, "
                "it then computes 'grad_input' for this file",
            ),
        ),
        ("backward", {"small": ("other",)}, GIVEN, ("(small). It leaves each of",)),
    ],
)
def test_a_file_computes_one_of_the_cases_with_the_most_work(
    direction, own, others, says
):
    cases = lending._by_work(MATMUL, IN_C, SEED)
    text = lending._unearned(Told(own, others), IN_C, cases, direction)
    assert bool(text) == bool(says)
    for words in says:
        assert words in text


def test_empty_cases_show_nothing_and_large_ones_take_cusim_too_long():
    names = [case.name for case in lending._by_work(MATMUL, IN_C, SEED)]
    assert names[0] == "one" and names[-1] == "blocks" and "no_rows" not in names
    norm = operators.get("layer_norm")
    in_c, in_cuda = (
        {case.name for case in lending._by_work(norm, rung, SEED)}
        for rung in (IN_C, IN_CUDA)
    )
    large = {case.name for case in norm.cases(SEED) if case.large}
    assert "larger_than_a_cache" in large and in_c - in_cuda == large
