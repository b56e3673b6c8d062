# SPDX-License-Identifier: MIT
"""Writes marks as CSV for the gradebooks of Canvas and Moodle: each part has a column.

If a cell begins with = + - @, a tab or a carriage return, spreadsheets treat it as a
formula. Quotes do not help, so such a cell gets an apostrophe in front. No cell has
more than one line.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from grader.course.foreign import cleaned
from grader.course.offered.course_file import Course, Part
from grader.engine.marks.total import Total

FORMULA = ("=", "+", "-", "@", "\t", "\r")
POSSIBLE = "    Points Possible"  # Canvas knows its second row by this


def harmless(text: str) -> str:
    """A cell of words: one line, no control characters, no formula."""
    risky = text.startswith(FORMULA) or text.lstrip().startswith(FORMULA)
    line = " ".join(cleaned(text).split())
    return f"'{line}" if risky else line


def canvas(totals: Sequence[Total], made: Course) -> str:
    """For "Import" in Canvas' gradebook: five columns name the student, the second row
    says what each column is worth.
    """
    head = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    names = [_column(part, made) for part in made.parts]
    rows: list[list[str]] = [[*head, *names]]
    rows.append([POSSIBLE, "", "", "", "", *(f"{_of(p):g}" for p in made.parts)])
    for one in totals:
        who = one.person
        words = (who.name or one.student, who.canvas_id, who.id, who.login, who.section)
        points = [f"{one.of_part(part.id):g}" for part in made.parts]
        rows.append([*map(harmless, words), *points])
    return _written(rows)


def moodle(totals: Sequence[Total], made: Course) -> str:
    """For "Import" of a CSV file in Moodle's gradebook: map from ID number or Email
    address; a part has its points and its feedback.
    """
    head = ["ID number", "Email address", "Full name"]
    for part in made.parts:
        name = _column(part, made)
        head += [name, f"{name} (feedback)"]
    rows = [head]
    for one in totals:
        who = one.person
        row = [harmless(word) for word in (who.id, who.email, who.name or one.student)]
        for part in made.parts:
            said = one.comments(part.id, hides=bool(made.hidden))
            row += [f"{one.of_part(part.id):g}", harmless(said)]
        rows.append(row)
    return _written(rows)


def _column(part: Part, made: Course) -> str:
    return harmless(f"{made.title}: {part.title}")


def _of(part: Part) -> float:
    tasks = sum(offer.points for offer in part.offers if not offer.extra)
    return tasks + sum(one.points for one in part.questions)


def _written(rows: Sequence[Sequence[str]]) -> str:
    made = io.StringIO()
    csv.writer(made, lineterminator="\r\n").writerows(rows)
    return made.getvalue()
