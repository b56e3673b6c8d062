# SPDX-License-Identifier: MIT
"""Prints the marks of all students of a course as a table in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from grader.course.foreign import one_line
from grader.course.offered.course_file import Course
from grader.engine.marks.total import Total
from grader.report.terminal import console


def show(totals: Sequence[Total], made: Course) -> None:
    """A row for each student."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("student")
    for name in (*(part.id for part in made.parts), f"of {made.of:g}", "pending"):
        table.add_column(name, justify="right")
    table.add_column("remarks")
    for one in totals:
        points = (f"{one.of_part(part.id):g}" for part in made.parts)
        cells = (*points, f"{one.points:g}", f"{one.pending:g}", _remarks(one))
        table.add_row(*(escape(one_line(cell)) for cell in (one.student, *cells)))
    console.print(table)


def _remarks(one: Total) -> str:
    by_hand = [item.name for item in one.items if item.by_hand]
    below = [
        f"{item.name} (by hand {item.points:g}, graded {item.graded:g})"
        for item in one.items
        if item.graded is not None and item.points < item.graded
    ]
    missing = [item.name for item in one.items if item.missing]
    dropped = f"files that do not count: {len(one.dropped)}" if one.dropped else ""
    said = [one.refusal]
    said += [word for item in one.items for word in item.suspicious]
    said += [f"{part}: {days} late days" for part, days in one.late.items() if days]
    said += [f"{part}: graded without WHEN=, so it is not late" for part in one.untimed]
    said += [f"by hand: {', '.join(by_hand)}" if by_hand else ""]
    said += [f"below the grader's points: {', '.join(below)}" if below else ""]
    said += [f"missing: {', '.join(missing)}" if missing else "", dropped]
    return "; ".join(filter(None, said))
