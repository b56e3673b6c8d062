# SPDX-License-Identifier: MIT
"""What is told of traffic beyond a limit: the line, and what moves less."""

from __future__ import annotations

import dataclasses

import pytest
from cusim.report import Count

from grader.checks.cuda import moved


def counted(line: int, space: str, requests: int, passes: int) -> Count:
    """Of a load of 4 bytes."""
    key = "wavefronts" if space == "shared" else "sectors"
    words = {"width": 4, "requests": requests, key: passes, "bytes": 32 * passes}
    words["lanes"] = 32 * requests
    return Count("k", "labs/a.cu", line, space, "load", **words)


@pytest.mark.parametrize(
    ("word", "limit", "counts", "line", "axis"),
    [
        (  # the many requests without a conflict are not the reason
            "shared_wavefronts_per_request",
            1.1,
            [counted(7, "shared", 9000, 9000), counted(8, "shared", 100, 3200)],
            8,
            False,
        ),
        (
            "global_sectors_per_request",
            4.4,
            [counted(7, "global", 9000, 36000), counted(8, "global", 100, 3200)],
            8,
            True,
        ),
        (
            "bytes",
            1,
            [counted(7, "global", 50, 200), counted(8, "global", 9, 99)],
            7,
            0,
        ),
        (
            "requests",
            1,
            [counted(7, "global", 1, 99), counted(8, "global", 9, 9)],
            8,
            0,
        ),
    ],
)
def test_the_line_that_is_too_much_is_named(word, limit, counts, line, axis):
    place, words = moved.where(word, counts, limit)
    assert place == f"labs/a.cu:{line}"
    assert ("the wrong axis: its stride is not 1" in words) == bool(axis)


def test_threads_that_lie_apart_are_told_where_neighbours_lie():
    for sectors, expected in ((1660, True), (800, False)):  # a stride of 2 has 8
        few = counted(7, "global", 100, sectors)
        words = moved.where("global_sectors_per_request", [few], 3)[1]
        assert ("32 neighbouring elements fill only 4 sectors" in words) == expected


def test_packs_that_are_loaded_number_by_number_are_to_be_loaded_at_once():
    """The threads of a warp are 16 bytes apart, which is no wrong axis."""
    singly = counted(7, "global", 8192, 16 * 8192)
    words = moved.where("requests", [singly], 2816)[1]
    assert words.endswith("(for example a float4), it needs only 1/4 of the requests")
    assert moved.NEIGHBOURS not in words
    packs = dataclasses.replace(singly, width=16)
    assert moved.where("requests", [packs], 2816)[1].endswith("of 16 sectors each")


@pytest.mark.parametrize(
    ("width", "wavefronts", "lanes"), [(4, 32, 32), (4, 2, 2), (8, 16, 8), (16, 8, 2)]
)
def test_a_bank_conflict_is_told_with_its_lanes_and_its_cure(width, wavefronts, lanes):
    few = dataclasses.replace(counted(7, "shared", 100, 100 * wavefronts), width=width)
    _, words = moved.where("shared_wavefronts_per_request", [few], 1.1)
    assert f"bank conflict: {lanes} lanes use one bank. Give the array one" in words


@pytest.mark.parametrize(("width", "wavefronts"), [(4, 1), (8, 2), (8, 1), (16, 4)])
def test_what_has_no_conflict_is_not_told_of_one(width, wavefronts):
    few = dataclasses.replace(counted(7, "shared", 100, 100 * wavefronts), width=width)
    assert "bank" not in moved.where("shared_wavefronts_per_request", [few], 0.5)[1]
