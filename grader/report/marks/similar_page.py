# SPDX-License-Identifier: MIT
"""Makes the page of similar files: each pair side by side, with the common lines."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from grader.course.offered.course_file import Course
from grader.engine.similarity.pairs import Pair, Source
from grader.report import html
from grader.report.exports.gradebook import harmless


def render(found: Sequence[Pair], made: Course, *, students: int) -> str:
    """The page for the instructor."""
    return html.document(
        "similar.html",
        made=made,
        pairs=found,
        students=students,
        lines=_lines,
        zip=zip,
    )


def _lines(source: Source, common: frozenset[int]) -> list[tuple[int, str, bool]]:
    """Each line of a file with its number, and whether the other file has it."""
    lines = enumerate(source.text.splitlines(), start=1)
    return [(number, text, number in common) for number, text in lines]


def table(found: Sequence[Pair]) -> str:
    """The pairs as CSV."""
    made = io.StringIO()
    write = csv.writer(made, lineterminator="\r\n").writerow
    write(["score", "student", "file", "other student", "other file"])
    for pair in found:
        words = (pair.one.who, pair.one.place, pair.other.who, pair.other.place)
        write([f"{pair.score:.2f}", *map(harmless, words)])
    return made.getvalue()
