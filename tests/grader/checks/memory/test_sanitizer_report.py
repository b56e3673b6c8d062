# SPDX-License-Identifier: MIT
"""A sanitizer's report, as a sentence: here of memory of the program itself."""

from __future__ import annotations

from typing import Any

import pytest

from grader.checks.memory import access, sanitizer_report

ACCESS = "READ of size 1 at 0x55f216f7e027 thread T0\n"
BESIDE = (
    "0x55f216f7e027 is located {} global variable '{}' defined in 'a.c' of size 4\n"
)


def sentence(*places: tuple[str, str]) -> str:
    """What is said of an access beside these."""
    worker: Any = None
    report = ACCESS + "".join(BESIDE.format(*place) for place in places)
    return sanitizer_report._address(worker, "global-buffer-overflow", report, [])


@pytest.mark.parametrize("name", ["*.LC0", ".LC12", "<string literal>"])
def test_a_string_is_no_array_of_the_student(name: str) -> None:
    found = sentence(("3 bytes to the right of", name))
    assert found == "reads 3 bytes past the end of a string constant of the file"


def test_an_array_is_named_though_it_is_called_almost_like_a_string() -> None:
    found = sentence(("0 bytes after", "LC"))
    assert found == "reads right past the end of the static array 'LC'"


def test_of_two_neighbours_the_nearer_one_is_named() -> None:
    """gcc's runtime lists both sides, in any order."""
    places = ("57 bytes to the left of", "far"), ("3 bytes to the right of", "near")
    for order in (places, places[::-1]):
        assert (
            sentence(*order) == "reads 3 bytes past the end of the static array 'near'"
        )


def test_infinity_by_infinity_is_among_what_has_no_result() -> None:
    assert "inf/inf" in access._computes(0, [])
