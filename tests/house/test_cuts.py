# SPDX-License-Identifier: MIT
"""No text is cut inside of a word: whoever shortens one asks `short` or `quoted`."""

from __future__ import annotations

import ast

import pytest

from grader.course.foreign import short
from grader.runner.worker.student_errors import fitting
from grader.runner.worker.student_rules import quoted
from tests import ROOT

LEAST = 100  # digits of a hash and counts of things are smaller
ALLOWED = {  # file -> what is cut there on purpose
    "grader/course/foreign.py": "a line that may be one word without end",
    "grader/report/failure/excerpt.py": "a line of source",
    "grader/checks/printed.py": "lines of a program, marked as shortened",
    "grader/runner/worker/student_rules.py": "the same",
    "grader/engine/marks/desk.py": "the name of a file, told apart by its hash",
    "grader/report/html.py": "a text without end, marked as shortened",
}
OF_LISTS = {  # how many of several things
    *("SIDE_TENSORS", "FEW", "STRIDED", "MODULE_CASES", "NAMED", "NEXT_STEPS"),
    *("FILES", "SAID"),
    *("SLOWEST", "MOST_REPORTED", "NEAR", "LISTED"),
    "MAX_DIMS",  # axes of a tensor
    "KEPT",  # bytes of a program's output, which is read in lines
}


def cuts(source: str) -> list[str]:
    """What is sliced from its beginning to a large number or to a constant's name."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            upper = node.slice.upper
            large = isinstance(upper, ast.Constant) and upper.value >= LEAST
            named = isinstance(upper, ast.Name) and upper.id.isupper()
            of_list = isinstance(upper, ast.Name) and upper.id in OF_LISTS
            if node.slice.lower is None and (large or named) and not of_list:
                found.append(ast.unparse(node))
    return found


def test_no_text_is_sliced():
    for file in sorted((ROOT / "grader").rglob("*.py")):
        name = str(file.relative_to(ROOT))
        if name not in ALLOWED:
            assert not cuts(file.read_text()), name


def test_a_slice_of_a_text_is_seen():
    assert cuts("said = text[:200]") == ["text[:200]"]
    assert cuts("said = text[:LONGEST] + '...'") == ["text[:LONGEST]"]
    assert not cuts("first = cases[:FEW]; key = digest[:32]; rest = words[1:]")


@pytest.mark.parametrize("cut", [short, quoted])
def test_what_is_shortened_ends_with_a_whole_word(cut):
    text = "gradient of weight has the wrong size in every case"
    assert cut(text, 30) == "gradient of weight has the ..."
    assert cut(text, 100) == text


def test_a_message_of_too_many_bytes_ends_with_a_whole_word():
    text = "größer " * 200
    found = fitting(text, 1023).decode()
    assert len(found.encode()) <= 1023
    assert set(found.split()) == {"größer", "..."}
