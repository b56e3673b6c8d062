# SPDX-License-Identifier: MIT
"""`python -m grader autograde` grades a submission for Gradescope or Autolab.

It runs in the instructor's tree. FROM= is the submission, HOST= the host, TO= the file
for the answer. It always answers, because without an answer the host gives 0 points and
no reason.
"""

from __future__ import annotations

import sys
import traceback
from dataclasses import replace
from pathlib import Path

from grader.course import rungs
from grader.course.offered.course_file import Course
from grader.course.tasks import here
from grader.engine.answers import as_json
from grader.engine.marks import hand_in
from grader.errors import GraderError
from grader.options import Arguments, Option, text
from grader.report.exports import hosts
from grader.report.exports.sheet import Sheet, sheet
from grader.toolchain.make import build_folder

FAULT = "The grader failed, not you: nothing was judged. Tell your instructor."
UNGRADED = "Nothing could be graded. Tell your instructor."
KNOWN = ("gradescope", "autolab")
HOST = Option("HOST", "gradescope or autolab", text)
FROM = Option("FROM", "the submission", text)
TO = Option("TO", "the file for the answer", text)
OPTIONS = (HOST, FROM, TO)


def run(arguments: Arguments) -> int:
    """Lay the submission over the starters, grade, answer."""
    host, source = arguments[HOST], arguments[FROM]
    if host not in KNOWN or not source:
        raise GraderError(
            f"HOST= is {host!r} and FROM= is {source!r}. HOST= must be "
            f"{' or '.join(KNOWN)}, and FROM= must name the submission"
        )
    made = here()
    if made is None:
        raise GraderError(
            "this folder was not made for a course: make handout COURSE=file makes "
            "such a folder"
        )
    try:
        found = _graded(Path(source).resolve(), made)
    except GraderError as error:
        answer = hosts.failed(host, str(error))
    except Exception:  # whatever it is: the host must get an answer
        if host == KNOWN[0] or not made.hidden:  # students read what Autolab prints
            traceback.print_exc()
        answer = hosts.failed(host, FAULT)
    else:
        answer = hosts.gradescope(found) if host == KNOWN[0] else _autolab_answer(found)
    if target := arguments[TO]:
        Path(target).write_text(answer, encoding="utf-8")
    else:
        sys.stdout.write(answer + "\n")
    return 0


def _graded(source: Path, made: Course) -> Sheet:
    laid = hand_in.lay(source, rungs.ROOT, made)
    try:
        found = hand_in.grade(rungs.ROOT, build_folder(), made)
    except GraderError as error:  # may quote what a student's process has printed
        if not made.hidden:
            raise
        raise GraderError(UNGRADED) from error
    whole = as_json.results(found)
    answer_sheet = sheet(whole, hides=bool(made.hidden))
    return replace(answer_sheet, comment="\n".join(laid.lines))


def _autolab_answer(found: Sheet) -> str:
    """For Autolab: students read what is printed, the last line is the scores."""
    lines = [found.comment] if found.comment else []
    lines += [
        f"{row.task}: {row.points:g} of {row.of:g}\n{row.text}" for row in found.rows
    ]
    return "\n".join([*lines, hosts.autolab(found)])
