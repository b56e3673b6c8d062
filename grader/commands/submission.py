# SPDX-License-Identifier: MIT
"""`make submission COURSE= FROM= NAME=`: grade what one student handed in, from a clean
copy, and keep the result on the desk.
"""

from __future__ import annotations

import html
import shutil
import tempfile
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from grader.course import rungs
from grader.course.foreign import one_line
from grader.course.handed import inbox
from grader.course.handed.laid import Laid
from grader.course.offered.course_file import Course
from grader.engine import results
from grader.engine.answers import as_json
from grader.engine.marks import desk, hand_in
from grader.errors import GraderError
from grader.handout import course_trees
from grader.options import COURSE, Arguments, Option, several, text
from grader.report import terminal
from grader.report.exports.sheet import Row, Sheet, sheet
from grader.toolchain import given, sandbox
from grader.toolchain.make import build_folder

EXAMPLE = "make submission COURSE=course.toml FROM=alice.zip NAME=alice"
WHEN = Option("WHEN", "the time of the hand-in", text)
PART = Option("PART", "the course's part", several)
DESK = Option("DESK", "the folder of the records", text)
ORDER = (COURSE, WHEN, PART, DESK)
FROM = Option("FROM", "a folder or an archive", text)
NAME = Option("NAME", "the student", text)
OPTIONS = (*ORDER, FROM, NAME)


@dataclass(frozen=True)
class Order:
    """What is to be graded, by the rules of which course."""

    made: Course
    wanted: Course  # the same with the parts alone that are graded now
    when: datetime | None  # when it was handed in; None: nobody says
    tree: Path  # the handout
    place: Path  # the course's folder on the desk
    pages: Path  # the folder of the reports


@dataclass(frozen=True)
class Graded:
    """A submission that was graded."""

    found: Sheet
    laid: Laid
    sandbox: str
    record: Path
    page: Path


def run(arguments: Arguments) -> int:
    """Unpack, grade, keep, tell."""
    order = order_of(arguments, EXAMPLE)
    source, student = arguments[FROM], inbox.named(arguments[NAME])
    if not (student and source):
        raise GraderError(f"name the submission and the student: {EXAMPLE}")
    warn(order, timed=order.when is not None)
    graded = _grade(Path(source), student, order)
    for row in graded.found.rows:
        terminal.say(_line(row))
    _tell_files(graded.laid)
    terminal.say(
        f"{one_line(student)}: {len(graded.laid.names)} files graded in the sandbox "
        f"{graded.sandbox}; {results.near(graded.record)}, and as a page "
        f"{results.near(graded.page)}"
    )
    return 0


def warn(order: Order, *, timed: bool) -> None:
    """What somebody should know before the grading. `timed`: all times are known."""
    if not timed and order.made.late:
        terminal.say("without WHEN= nothing that is graded now counts as late")
    lab_05 = any(task.startswith("05") for task in order.wanted.offers)
    if lab_05 and (weak := sandbox.too_weak()):
        terminal.say(weak)


def order_of(arguments: Arguments, example: str) -> Order:
    """What the options ask for. Raises GraderError."""
    made = wanted_course(arguments[COURSE], example)
    when, parts = _when(arguments[WHEN], made), _parts(arguments[PART], made)
    tree = build_folder() / "handout" / made.name / "student"
    if not tree.is_dir():
        raise GraderError(
            "there is no handout of this course yet: run make handout "
            f"COURSE={arguments[COURSE]}"
        )
    wanted = [part for part in made.parts if part.id in parts or not parts]
    place = place_of(arguments[DESK], made)
    pages = place / "records" / "+".join(parts)
    return Order(made, replace(made, parts=tuple(wanted)), when, tree, place, pages)


def _grade(source: Path, student: str, order: Order) -> Graded:
    """Grade a submission and keep what came of it, also that it could not be graded.

    Raises GraderError if it could not.
    """
    try:
        return _graded(source, student, order)
    except (GraderError, OSError) as error:
        why = str(error)
        if isinstance(error, OSError):
            why = results.explain(error, Path(error.filename or order.tree))
        refuse(student, why, order)
        raise GraderError(why) from error


def _graded(source: Path, student: str, order: Order) -> Graded:
    place = build_folder() / "submissions" / order.wanted.name
    results.make_folder(place)
    with tempfile.TemporaryDirectory(dir=place) as work:
        clean, build = Path(work) / "tree", Path(work) / "build"
        shutil.copytree(order.tree, clean)
        course_trees.hide(clean, order.wanted)
        laid = hand_in.lay(source, clean, order.made)
        found, page = hand_in.outcome(clean, build, order.wanted)
    return keep(student, laid, found, page, order)


def keep(
    student: str, laid: Laid, found: dict[str, Any], page: str, order: Order
) -> Graded:
    """Put what came of a grading on the desk."""
    file = order.pages / desk.file_of(order.place, student).with_suffix(".html").name
    results.make_folder(file.parent)
    if page:
        file.write_text(_of(student, page), encoding="utf-8")
    record = desk.keep(
        order.place,
        student,
        found,
        when=order.when,
        written=laid.written,
        left=laid.left,
        tasks=list(order.wanted.offers),
        made=order.made,
    )
    graded_sheet = sheet(as_json.results(found))
    return Graded(graded_sheet, laid, found["environment"]["sandbox"], record, file)


def refuse(student: str, why: str, order: Order) -> None:
    """Put on the desk that a submission could not be graded."""
    desk.refuse(order.place, student, why, list(order.wanted.offers))


def tell(student: str, graded: Graded) -> None:
    """A student's points in one line, and the files that do not count."""
    points, of = (graded.found.total(what, extra=False) for what in ("points", "of"))
    extra = graded.found.total("points", extra=True)
    more = f" and {extra:g} extra" if extra else ""
    terminal.say(f"{one_line(student)}: {points:g} of {of:g} points{more}")
    _tell_files(graded.laid)


def _tell_files(laid: Laid) -> None:
    for line in laid.lines:
        terminal.say(f"  {line}")


def _line(row: Row) -> str:
    """A task's points, and what was not right."""
    words = list(dict.fromkeys(str(remark.verdict) for remark in row.remarks))
    words += [f"{row.pending:g} pending"] if row.pending else []
    return f"{row.task:32} {row.points:g} of {row.of:g}  {', '.join(words)}".rstrip()


def _of(student: str, page: str) -> str:
    """A report whose window is called after the student."""
    return page.replace("<title>convlab", f"<title>{html.escape(student)}", 1)


def wanted_course(named: str, example: str = EXAMPLE) -> Course:
    """The course of COURSE=, in the repository. Raises GraderError."""
    if given.is_handout():
        raise GraderError(
            "this folder is a handout. Run the command in the repository, which keeps "
            "the marks"
        )
    made = course_trees.asked(named)
    if made is None:
        raise GraderError(f"name the file of the course: {example}")
    return made


def place_of(named: str, made: Course) -> Path:
    """The course's folder on the desk: DESK=, or desk/ in the repository."""
    return Path(named or rungs.ROOT / "desk") / made.name


def _when(named: str, made: Course) -> datetime | None:
    """The moment that WHEN= names, by the course's clock; None without it."""
    if not named:
        return None
    try:
        found = datetime.fromisoformat(named)
        return (found if found.tzinfo else made.moment(found)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise GraderError(
            f"WHEN= is {named!r}, expected a date like 2026-11-03T10:00:00+01:00"
        ) from error


def _parts(named: tuple[str, ...], made: Course) -> list[str]:
    """The parts that PART= names; none without it."""
    parts = [part.id for part in made.parts]
    for name in named:
        if name not in parts:
            raise GraderError(f"PART= names {name!r}, expected {', '.join(parts)}")
    return list(named)
