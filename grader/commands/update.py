# SPDX-License-Identifier: MIT
"""`make update FROM=archive` installs a newer handout and keeps the work begun."""

from __future__ import annotations

from pathlib import Path

from grader import once
from grader.course import rungs
from grader.course.handed import renewal, starters
from grader.errors import GraderError
from grader.options import Arguments, Option, text
from grader.report import terminal
from grader.toolchain import given
from grader.toolchain.make import build_folder

FROM = Option("FROM", "an archive", text)
OPTIONS = (FROM,)


def run(arguments: Arguments) -> int:
    """Do it and say what was done; 1 if a conflict is left to the student."""
    if not given.is_handout():
        raise GraderError(
            "make update works only in a handout. In the repository, use git pull"
        )
    named = arguments[FROM]
    if not named:
        raise GraderError(
            "name the archive of the new handout: make update FROM=convlab-handout.zip"
        )
    if not (rungs.ROOT / starters.ARCHIVE).exists():
        raise GraderError(
            f"this handout is too old to be updated: it has no {starters.ARCHIVE}. "
            "Unpack the new handout in another folder, and copy your files into it"
        )
    new = renewal.unpacked(Path(named))
    with once.alone(build_folder() / "update"):
        report = renewal.renew(rungs.ROOT, new)
    _tell(report)
    return 1 if report.conflicts else 0


def _tell(report: renewal.Report) -> None:
    terminal.say(f"{report.replaced} files are new, {report.removed} were removed")
    for name in report.merged:
        terminal.say(f"merged: {name} has your lines and the new ones")
    for name in report.conflicts:
        terminal.say(
            f"conflict: {name} stays as you wrote it. {name}{renewal.BESIDE} shows "
            "where the new starter differs: copy what you want from it, then delete it"
        )
    for name, copy in report.kept:
        terminal.say(f"kept: your old {name} is now {copy}")
