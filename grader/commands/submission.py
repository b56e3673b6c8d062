# SPDX-License-Identifier: MIT
"""`make submission COURSE= FROM= NAME=`: grade what one student handed in, from a clean
copy, and keep the result on the desk.
"""

from __future__ import annotations

import argparse
import html
import os
import shutil
import tempfile
from datetime import datetime
from pathlib import Path

from grader.commands import for_course, handed_in
from grader.course import rungs
from grader.course.offered.course_file import Course
from grader.engine import results
from grader.engine.answers import as_json
from grader.engine.marks import desk
from grader.errors import GraderError
from grader.report import terminal
from grader.report.exports.sheet import Row, sheet
from grader.toolchain import given
from grader.toolchain.make import build_folder

EXAMPLE = "make submission COURSE=course.toml FROM=alice.zip NAME=alice"


def run(args: argparse.Namespace) -> int:
    """Unpack, grade, keep, tell."""
    del args
    made = wanted_course()
    source, student = os.environ.get("FROM", ""), os.environ.get("NAME", "").strip()
    if not source or not student:
        raise GraderError(f"say what was handed in and by whom: {EXAMPLE}")
    when, tasks = _when(os.environ.get("WHEN", "")), _tasks(made)
    tree = build_folder() / "handout" / made.name / "student"
    if not tree.is_dir():
        raise GraderError(
            "there is no handout of this course yet: make handout COURSE="
            f"{os.environ['COURSE']}"
        )
    place = build_folder() / "submissions" / made.name
    results.make_folder(place)
    with tempfile.TemporaryDirectory(dir=place) as work:
        clean, build = Path(work) / "tree", Path(work) / "build"
        shutil.copytree(tree, clean)
        for_course.hide(clean, made)
        names = handed_in.lay(Path(source), clean, made).names
        found = handed_in.grade(clean, build, made)
        kept = desk.file_of(place_of(made), student).with_suffix(".html")
        results.make_folder(kept.parent)
        if (build / "grade" / "report.html").is_file():
            text = (build / "grade" / "report.html").read_text(encoding="utf-8")
            kept.write_text(_of(student, text), encoding="utf-8")
    folder = place_of(made)
    file = desk.keep(folder, student, found, when=when, tasks=tasks, made=made)
    for row in sheet(as_json.results(found)).rows:
        if row.task in tasks:
            terminal.say(_line(row))
    terminal.say(
        f"{student}: {len(names)} files graded in the sandbox "
        f"{found['environment']['sandbox']}; {results.near(file)}, and as a page "
        f"{kept.name}"
    )
    return 0


def _line(row: Row) -> str:
    """A task's points, and what was not right."""
    said = list(dict.fromkeys(str(remark.verdict) for remark in row.remarks))
    said += [f"{row.pending:g} pending"] if row.pending else []
    return f"{row.task:32} {row.points:g} of {row.of:g}  {', '.join(said)}".rstrip()


def _of(student: str, page: str) -> str:
    """A report whose window is called after the student."""
    return page.replace("<title>convlab", f"<title>{html.escape(student)}", 1)


def wanted_course() -> Course:
    """The course of COURSE=, in the repository. Raises GraderError."""
    if given.is_handout():
        raise GraderError("this tree is a handout; marks are kept in the repository")
    made = for_course.asked()
    if made is None:
        raise GraderError(f"say which course: {EXAMPLE}")
    return made


def place_of(made: Course) -> Path:
    """The course's folder on the desk: DESK=, or desk/ in the repository."""
    return Path(os.environ.get("DESK") or rungs.ROOT / "desk") / made.name


def _when(named: str) -> datetime:
    if not named:
        return datetime.now().astimezone()
    try:
        found = datetime.fromisoformat(named)
    except ValueError as error:
        raise GraderError(
            f"WHEN= is {named!r}, expected a date like 2026-11-03T10:00:00+01:00"
        ) from error
    return found.astimezone()


def _tasks(made: Course) -> list[str]:
    """The tasks of the parts that PART= names; all without it."""
    named = [part for part in os.environ.get("PART", "").split(",") if part]
    known = {part.id: part for part in made.parts}
    for name in named:
        if name not in known:
            raise GraderError(f"PART= names {name!r}, expected {', '.join(known)}")
    parts = [known[name] for name in named] or list(made.parts)
    return [offer.task for part in parts for offer in part.offers]
