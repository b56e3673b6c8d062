# SPDX-License-Identifier: MIT
"""A class list: who is who on a platform, who is in which team, who handed in nothing.

The first line names the columns. Without such a line they are id,name. GitHub
Classroom's classroom_roster.csv is such a list too.
"""

from __future__ import annotations

import csv
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.course.foreign import one_line
from grader.course.handed.inbox import named
from grader.errors import GraderError

HEAD = ("id", "name")
TEAM = "team"
ALSO = {"identifier": "id", "github_username": "github"}  # of GitHub Classroom
COLUMNS = (*HEAD, "email", "moodle_id", "canvas_id", "github", TEAM)

Row = Mapping[str, str]  # column -> value


@dataclass(frozen=True)
class Roster:
    """The lines of the list. An `id` is the student's name on the desk."""

    rows: tuple[Row, ...] = ()

    def found(self, marks: Mapping[str, str]) -> tuple[str, ...]:
        """The ids of the student with these marks, and of that student's team; none if
        nobody has them. Raises GraderError if several students have them.
        """
        for column, value in marks.items():
            rows = [row for row in self.rows if _same(column, row.get(column), value)]
            if len(rows) > 1 and column != TEAM:
                others = " or ".join(one for one in marks if one not in (column, TEAM))
                raise GraderError(
                    f"{len(rows)} students of ROSTER= have the {column} {value!r}: "
                    f"tell them apart with the column {others}"
                )
            if rows:
                team = rows[0].get(TEAM)
                return tuple(
                    row["id"]
                    for row in self.rows
                    if row in rows or (team and row.get(TEAM) == team)
                )
        return ()

    def nothing(self, students: Collection[str]) -> list[str]:
        """Those of whom nothing came."""
        return [
            f"{row['id']} ({row['name']})" if row.get("name") else row["id"]
            for row in self.rows
            if row["id"] not in students
        ]

    def strange(self, students: Collection[str]) -> list[str]:
        """Those who are not on the list; nobody if there is no list."""
        known = {row["id"] for row in self.rows}
        return [student for student in students if known and student not in known]


def read(file: Path) -> Roster:
    """The list. Raises GraderError for a file or a line that is none."""
    try:
        with file.open(encoding="utf-8-sig", newline="") as text:
            lines = [[named(word) for word in line] for line in csv.reader(text)]
    except (OSError, ValueError, csv.Error) as error:
        raise GraderError(
            f"ROSTER= is {one_line(str(file))!r}, expected a CSV file with id,name in "
            f"each line: {error}"
        ) from error
    first = [ALSO.get(word.lower(), word.lower()) for word in lines[0]] if lines else []
    columns = first if "id" in first else list(HEAD)
    rows: list[Row] = []
    for number, line in enumerate(lines, start=1):
        if not any(line) or (number == 1 and columns is first):
            continue
        row = {name: word for name, word in zip(columns, line) if name in COLUMNS}
        if len(line) < len(HEAD) or not row.get("id"):
            raise GraderError(
                f"{one_line(file.name)}:{number}: expected a line like "
                f"{','.join(columns)}, got {one_line(','.join(line))!r}"
            )
        if any(row["id"] == other["id"] for other in rows):
            raise GraderError(
                f"{one_line(file.name)}:{number}: the id {row['id']!r} stands in two "
                "lines: keep one"
            )
        rows.append(row)
    return Roster(tuple(rows))


def _same(column: str, one: str | None, other: str) -> bool:
    """Whether a value is the one of the list. A platform may write the family name
    first, in small letters, without blanks and punctuation.
    """
    if not one or not other:
        return False
    if column != "name":
        return one.casefold() == other.casefold()
    words = one.replace(",", " ").split()
    turned = (words[at:] + words[:at] for at in range(len(words)))
    return _letters(other) in {_letters("".join(way)) for way in turned}


def _letters(name: str) -> str:
    whole = unicodedata.normalize("NFC", name).casefold()
    return "".join(c for c in whole if c.isalnum()) or whole
