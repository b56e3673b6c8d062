# SPDX-License-Identifier: MIT
"""Makes the page that a student gets back, from what exports may tell (sheet.py).

The pages on the desk show all details of a grading. This page shows points, verdicts
and sentences, lateness, and what a person wrote into people.toml.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from grader.course.offered.course_file import Course, Part
from grader.engine.marks.total import Item, Total
from grader.engine.score import shown_points
from grader.report import charts, html, page
from grader.report.exports.sheet import Row, Sheet
from grader.report.page import Outcome
from grader.verdicts import Verdict

NOT_GRADED = "Your last hand-in could not be graded. Your teacher knows the reason."


@dataclass(frozen=True)
class Told:
    """What several checks of a task have in common."""

    outcome: Outcome
    sentence: str
    files: tuple[tuple[str, str], ...]  # 00_definition, its checks


@dataclass(frozen=True)
class Line:
    """A task or a question."""

    item: Item
    row: Row
    remarks: tuple[Told, ...]

    @property
    def passed(self) -> int:
        """How many checks passed."""
        return len(self.row.checks) - len(self.row.remarks)


def render(one: Total, found: Sheet, made: Course, *, pseudonym: str) -> str:
    """The page. A row of the sheet belongs to each item of the total."""
    rows = {item.name: row for item, row in zip(one.items, found.rows, strict=True)}
    lines = [Line(item, rows[item.name], _told(rows[item.name])) for item in one.items]
    return html.document(
        "student.html",
        one=one,
        made=made,
        who=one.person.name or one.student,
        pseudonym=pseudonym,
        parts=[(part, list(_of_part(part, lines))) for part in made.parts],
        refused=NOT_GRADED if one.refused else "",
        points=shown_points,
        shares=charts.shares,
    )


def _of_part(part: Part, lines: list[Line]) -> Iterator[Line]:
    return (line for line in lines if line.item.part == part.id)


def _told(row: Row) -> tuple[Told, ...]:
    """The remarks of a task: one for each verdict and sentence."""
    found: dict[tuple[Verdict, str], dict[str, list[str]]] = {}
    for remark in row.remarks:
        files = found.setdefault((remark.verdict, remark.sentence), {})
        files.setdefault(remark.rung.rpartition("/")[2], []).append(remark.check)
    return tuple(
        Told(
            page.outcome(verdict),
            sentence,
            tuple((name, ", ".join(checks)) for name, checks in files.items()),
        )
        for (verdict, sentence), files in found.items()
    )
