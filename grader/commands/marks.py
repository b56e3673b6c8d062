# SPDX-License-Identifier: MIT
"""`make marks COURSE= [TO=]` shows all students' points by the rules of the course.

With TO= it also writes pages for students, a report about the class, and files for
gradebooks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from grader.commands import export
from grader.commands.submission import DESK, place_of, wanted_course
from grader.course.foreign import one_line
from grader.course.handed import opened
from grader.course.offered.course_file import Course
from grader.engine import results
from grader.engine.answers import as_json
from grader.engine.marks import desk
from grader.engine.marks.people import Person, people
from grader.engine.marks.pseudonyms import pseudonyms
from grader.engine.marks.total import Total, total
from grader.errors import GraderError
from grader.handout import course_trees
from grader.options import COURSE, Arguments, Option, text
from grader.report import mark_table, terminal
from grader.report.exports import gradebook, moodle_files
from grader.report.exports.sheet import Row, Sheet, sheet
from grader.report.marks import class_page, student_page

BOOKS = {"canvas": gradebook.canvas, "moodle": gradebook.moodle}
WHO = {
    "canvas": lambda who: who.canvas_id or who.id or who.login,
    "moodle": lambda who: who.id or who.email,
}
NEEDED = {"canvas": "canvas_id, id or login", "moodle": "id or email"}
PAGES, FEEDBACK, CLASS = "pages", "moodle-feedback", "class"
TO = Option("TO", "the files: canvas, moodle, pages, moodle-feedback or class", text)
DOWNLOAD = Option("DOWNLOAD", "Moodle's download of all submissions", text)
OPTIONS = (COURSE, TO, DESK, DOWNLOAD)


@dataclass(frozen=True)
class Class:
    """All students of a course."""

    made: Course
    folder: Path  # of the course on the desk
    records: dict[str, desk.Record]
    totals: list[Total]
    download: str  # DOWNLOAD=

    @property
    def exports(self) -> Path:
        """The folder of the files that are written."""
        return self.folder / "exports"


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
        kinds = export.asked_for(named, KINDS, "make marks TO=canvas,pages")
        _write(Class(made, folder, records, totals, arguments[DOWNLOAD]), kinds)
    return 0


def _write(found: Class, kinds: list[str]) -> None:
    """A file of the whole course for a gradebook, pages, or the class report."""
    results.make_folder(found.exports)
    for kind in kinds:
        if kind in BOOKS:
            _book(kind, found)
        else:
            WRITERS[kind](found)


def _book(kind: str, found: Class) -> None:
    file = found.exports / f"{kind}.csv"
    written = BOOKS[kind](found.totals, found.made)
    file.write_text(written, encoding="utf-8", newline="")
    terminal.say(results.near(file))
    _tell_unknown(
        kind,
        [one.student for one in found.totals if not WHO[kind](one.person)],
        f"write their {NEEDED[kind]} into {desk.PEOPLE}",
    )


def _tell_unknown(kind: str, students: Iterable[str], advice: str) -> None:
    if nameless := ", ".join(map(one_line, students)):
        terminal.say(f"  {kind} does not know these students: {nameless}; {advice}")


def _sheet(one: Total, found: Class) -> Sheet:
    """A student's mark as exports tell it: with what the checks said of a task."""
    record = found.records.get(one.student)
    rows = {}
    if record:
        whole = as_json.results(dict(record.results))
        graded_sheet = sheet(whole, hides=bool(found.made.hidden))
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


# ---- what students get back ----------------------------------------------------------


def _page_of(found: Class) -> Callable[[Total], str]:
    """Makes a student's page."""
    named = pseudonyms(found.folder, (one.student for one in found.totals))

    def page(one: Total) -> str:
        words = one, _sheet(one, found), found.made
        made = student_page.render(*words, pseudonym=named[one.student])
        if what := course_trees.given_away(made, found.made):
            raise GraderError(
                f"the page of {one_line(one.student)} would give away {what}: change "
                f"the comments in {desk.PEOPLE}, or the course file"
            )
        return made

    return page


def _pages(found: Class) -> None:
    """A page for each student, in a folder of its own."""
    page, folder = _page_of(found), found.exports / PAGES
    results.make_folder(folder)
    for one in found.totals:
        file = folder / desk.file_of(folder, one.student).with_suffix(".html").name
        file.write_text(page(one), encoding="utf-8", errors="replace")
    terminal.say(f"{results.near(folder)}: {len(found.totals)} pages to give back")


def _feedback(found: Class) -> None:
    """The same pages in a zip for Moodle."""
    theirs = moodle_files.folders(_names(found))
    folder = {one.student: _folder(one, theirs) for one in found.totals}
    known = [one for one in found.totals if folder[one.student]]
    page, file = _page_of(found), found.exports / f"{FEEDBACK}.zip"
    pages = {folder[one.student]: page(one) for one in known}
    file.write_bytes(moodle_files.packed(pages))
    terminal.say(f"{results.near(file)}: {len(pages)} pages")
    _tell_unknown(
        FEEDBACK,
        (one.student for one in found.totals if not folder[one.student]),
        "DOWNLOAD= names Moodle's download, and its folders have the full names",
    )


def _names(found: Class) -> list[str]:
    """The names of folders that Moodle may have given."""
    if not found.download:
        return [one.student for one in found.totals]
    members = opened.members(Path(found.download))
    return [part for member in members for part in member.path.split("/")]


def _folder(one: Total, theirs: dict[str, str]) -> str:
    """Moodle's folder of a student; "" if there is none."""
    names = one.student, one.person.name
    return next((theirs[name] for name in names if name in theirs), "")


# ---- what the instructor sees --------------------------------------------------------


def _class(found: Class) -> None:
    """The report about the class, and the board for all."""
    named = pseudonyms(found.folder, found.records)
    boards = class_page.boards(found.records, named)
    written = {
        "class.html": class_page.render(
            found.totals, found.records, found.made, boards
        ),
        "class.csv": class_page.table(found.totals),
        "board.html": class_page.board(found.made, boards),
    }
    for name, contents in written.items():
        file = found.exports / name
        file.write_text(contents, encoding="utf-8", errors="replace", newline="")
        terminal.say(results.near(file))


WRITERS: dict[str, Callable[[Class], None]] = {
    PAGES: _pages,
    FEEDBACK: _feedback,
    CLASS: _class,
}
KINDS = (*BOOKS, *WRITERS)
