# SPDX-License-Identifier: MIT
"""`make marks COURSE= [TO=]` shows all students' points by the rules of the course.

With TO= it also writes the files for a gradebook.
"""

from __future__ import annotations

from pathlib import Path

from grader.commands import export
from grader.commands.submission import DESK, place_of, wanted_course
from grader.course.foreign import one_line
from grader.course.offered.course_file import Course
from grader.engine import results
from grader.engine.marks import desk
from grader.engine.marks.people import Person, people
from grader.engine.marks.total import Total, total
from grader.errors import GraderError
from grader.options import COURSE, Arguments, Option, text
from grader.report import mark_table, terminal
from grader.report.exports import gradebook

BOOKS = {"canvas": gradebook.canvas, "moodle": gradebook.moodle}
WHO = {
    "canvas": lambda who: who.canvas_id or who.id or who.login,
    "moodle": lambda who: who.id or who.email,
}
NEEDED = {"canvas": "canvas_id, id or login", "moodle": "id or email"}
TO = Option("TO", "the gradebooks, canvas or moodle", text)
OPTIONS = (COURSE, TO, DESK)


def run(arguments: Arguments) -> int:
    """Show the marks, write the exports."""
    made = wanted_course(arguments[COURSE])
    folder = place_of(arguments[DESK], made)
    records = desk.everybody(folder)
    persons = people(folder / desk.PEOPLE, made)
    refused = desk.refused(folder)
    students = sorted({*records, *persons, *refused})
    if not students:
        raise GraderError(
            f"{results.near(folder)} has no student yet: make submission grades a "
            "student's work"
        )
    totals = [
        total(
            name,
            persons.get(name, Person()),
            records.get(name),
            made,
            refused.get(name, ""),
        )
        for name in students
    ]
    mark_table.show(totals, made)
    if named := arguments[TO]:
        kinds = export.asked_for(named, tuple(BOOKS), "make marks TO=canvas,moodle")
        for kind in kinds:
            _write(totals, kind, folder / "exports", made)
    return 0


def _write(totals: list[Total], kind: str, folder: Path, made: Course) -> None:
    """The file for a gradebook, and whom this gradebook does not know."""
    results.make_folder(folder)
    file = folder / f"{kind}.csv"
    file.write_text(BOOKS[kind](totals, made), encoding="utf-8", newline="")
    terminal.say(results.near(file))
    if nameless := [one_line(t.student) for t in totals if not WHO[kind](t.person)]:
        terminal.say(
            f"  {kind} does not know these students: {', '.join(nameless)}; write "
            f"their {NEEDED[kind]} into {desk.PEOPLE}"
        )
