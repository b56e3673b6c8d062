# SPDX-License-Identifier: MIT
"""Text of student code reaches no terminal as a command, and names no other file."""

from __future__ import annotations

import pytest

from grader.checks.check_result import CheckResult
from grader.course.foreign import LONGEST, cleaned
from grader.course.rungs import ROOT, Rung
from grader.engine.score import RungResult
from grader.verdicts import Verdict

FILE = ROOT / "labs" / "02_naive_c" / "gelu" / "00_definition.c"
PACKAGE = ROOT / "labs" / "05_torch_extension"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b]0;title\x07b", "a?]0;title?b"),
        ("a\x9b2Jb", "a?2Jb"),
        ("over\rwritten\x08", "over?written?"),
        ("turned \u202eback\u2066", "turned ?back?"),
        ("hidden\u200b\ufeff\u2028line", "hidden???line"),
        ("one\ttwo\nthree", "one two\nthree"),
        ("‘größe’ μ ≤ 2", "‘größe’ μ ≤ 2"),
    ],
)
def test_only_what_can_be_read_is_left(text, shown):
    assert cleaned(text) == shown


def test_lines_are_cut_to_size():
    long, short = cleaned("x" * 3 * LONGEST + "\nshort").split("\n")
    assert len(long) == LONGEST and long.endswith("x...") and short == "short"


def test_a_result_is_clean_whoever_made_it():
    found = CheckResult(
        "build", "forward", Verdict.BUILD, message="\x1b[2J", diagnosis="\u202e"
    )
    assert (found.message, found.diagnosis, found.location) == ("?[2J", "?", None)


@pytest.mark.parametrize(
    ("rung", "location", "kept"),
    [
        (Rung("02_naive_c/gelu", FILE), f"{FILE.relative_to(ROOT)}:3", True),
        (Rung("02_naive_c/gelu", FILE), f"{FILE}:3:7", True),
        (Rung("02_naive_c/gelu", FILE), "labs/02_naive_c/add/00_broadcast.c:3", False),
        (Rung("02_naive_c/gelu", FILE), "/etc/passwd:1", False),
        (Rung("02_naive_c/gelu", FILE), "a\0b:1", False),
        (Rung("02_naive_c/gelu", FILE), "no place", False),
        (
            Rung("05_torch_extension/add", PACKAGE / "csrc" / "add.cpp", step="stable"),
            "labs/05_torch_extension/convlab_ext/add.py:9",
            True,
        ),
    ],
)
def test_a_place_is_told_in_the_graded_file_only(rung, location, kept):
    message = "no; the line is: root:x:0"
    check = CheckResult(
        "build", "forward", Verdict.BUILD, message=message, location=location
    )
    (placed,) = RungResult(rung, (check,)).checks
    expected = (location, message) if kept else (None, "no")
    assert (placed.location, placed.message) == expected
