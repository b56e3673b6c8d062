# SPDX-License-Identifier: MIT
"""What `make submission` says of a grading; test_course_handout.py grades really."""

from __future__ import annotations

from grader.commands import submission
from tests.grader.report.exports.test_exports import failing, found


def test_a_line_has_the_points_and_what_was_not_right():
    (wrong,) = found(failing(message="hidden_nine: off")).rows
    assert submission._line(wrong).split() == [
        "02_naive_c/gelu", "2", "of", "4", "WRONG_GRADIENT",
    ]  # fmt: skip
    (late,) = found(failing(verdict="TIMEOUT")).rows
    assert submission._line(late).endswith("2 of 4  TIMEOUT")


def test_the_page_of_a_student_is_called_after_them():
    page = "<head><title>convlab: 3 of 4 points</title><p><title>convlab"
    named = submission._of("<b>x & y", page)
    assert named == page.replace("convlab", "&lt;b&gt;x &amp; y", 1)
