# SPDX-License-Identifier: MIT
"""`make marks COURSE= [TO=]` shows all students' points by the rules of the course.

With TO= it also writes the files for a gradebook or a platform.
"""

from __future__ import annotations

from pathlib import Path

from grader.commands import export
from grader.commands.submission import DESK, place_of, wanted_course
from grader.course.foreign import one_line
from grader.course.offered.course_file import Course
from grader.engine import results
from grader.engine.answers import as_json
from grader.engine.marks import desk
from grader.engine.marks.people import Person, people
from grader.engine.marks.total import Total, total
from grader.errors import GraderError
from grader.options import COURSE, Arguments, Option, text
from grader.report import mark_table, terminal
from grader.report.exports import gradebook
from grader.report.exports.sheet import Row, Sheet, sheet

BOOKS = {"canvas": gradebook.canvas, "moodle": gradebook.moodle}
WHO = {
    "canvas": lambda who: who.canvas_id or who.id or who.login,
    "moodle": lambda who: who.id or who.email,
}
NEEDED = {"canvas": "canvas_id, id or login", "moodle": "id or email"}
KINDS = (*BOOKS, *export.FILES)
TO = Option("TO", "the format", text)
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
    named = arguments[TO]
    if named:
        kinds = export.asked_for(named, KINDS, "make marks TO=canvas,gradescope")
        _write(totals, records, kinds, folder / "exports", made)
    return 0


def _write(
    totals: list[Total],
    records: dict[str, desk.Record],
    kinds: list[str],
    folder: Path,
    made: Course,
) -> None:
    """A file of the whole course for a gradebook, one a student for a platform."""
    results.make_folder(folder)
    for kind in kinds:
        if kind in BOOKS:
            file = folder / f"{kind}.csv"
            file.write_text(BOOKS[kind](totals, made), encoding="utf-8", newline="")
            terminal.say(results.near(file))
            if nameless := [
                one_line(t.student) for t in totals if not WHO[kind](t.person)
            ]:
                terminal.say(
                    f"  {kind} does not know these students: {', '.join(nameless)}; "
                    f"write their {NEEDED[kind]} into {desk.PEOPLE}"
                )
    for one in totals if set(kinds) & set(export.FILES) else ():
        mine = folder / desk.file_of(folder, one.student).stem
        for file in export.write(_sheet(one, records, made), kinds, mine):
            terminal.say(results.near(file))


def _sheet(one: Total, records: dict[str, desk.Record], made: Course) -> Sheet:
    """A student's mark as exports tell it: with what the checks said of a task."""
    record = records.get(one.student)
    rows = {}
    if record:
        whole = as_json.results(dict(record.results))
        graded_sheet = sheet(whole, hides=bool(made.hidden))
        rows = {row.task: row for row in graded_sheet.rows}
    made_rows = []
    for item in one.items:
        seen = rows.get(item.name)
        words = item.points, item.pending, item.of, item.extra
        notes = [item.comment, "a person gave these points" if item.by_hand else ""]
        notes.append(one.lateness(item.part) if seen and not item.by_hand else "")
        notes.append("nothing was handed in, or marked yet" if item.missing else "")
        comment = "; ".join(filter(None, notes))
        checks = seen.checks if seen else ()
        made_rows.append(Row(item.name, *words, checks, comment))
    return Sheet(tuple(made_rows), one.person.comment)
