# SPDX-License-Identifier: MIT
"""`make export TO=` writes the last results.json in formats of other programs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from grader.course.tasks import here
from grader.engine import results
from grader.errors import GraderError
from grader.options import Arguments, Option, text
from grader.report import terminal
from grader.report.exports import hosts
from grader.report.exports.junit import junit
from grader.report.exports.sheet import Sheet, sheet

FILES: dict[str, tuple[str, Callable[[Sheet], str]]] = {
    "junit": ("junit.xml", junit),
    "gradescope": ("gradescope.json", hosts.gradescope),
    "autolab": ("autolab.json", hosts.autolab),
}
PRINTED = "github"  # GitHub reads what a step prints
KINDS = (*FILES, PRINTED)
TO = Option("TO", "the format", text)
OPTIONS = (TO,)


def run(arguments: Arguments) -> int:
    """Write the files, print the annotations; 1 if GitHub is to see a check that is
    wrong.
    """
    kinds = asked_for(arguments[TO], KINDS, "make export TO=junit,github")
    whole = results.read()
    if whole is None:
        reason = results.refusal()
        raise GraderError(
            f"{results.near(results.path())} cannot be read: {reason}; grade again"
            if reason
            else "there are no results yet: run make grade first"
        )
    made = here()
    found = sheet(whole, hides=bool(made and made.hidden))
    for file in write(found, kinds, results.folder() / "exports"):
        terminal.say(results.near(file))
    if PRINTED in kinds:
        sys.stdout.write(hosts.github(found) + "\n")
        return int(hosts.wrong(found))  # a step that ends with 1 is red
    return 0


def asked_for(named: str, kinds: Sequence[str], example: str) -> list[str]:
    """The names in TO=. Raises GraderError for one that nobody knows."""
    found = [name.strip() for name in named.split(",") if name.strip()]
    for name in found:
        if name not in kinds:
            raise GraderError(f"TO= names {name!r}, expected {', '.join(kinds)}")
    if not found:
        raise GraderError(
            f"name a format with TO=, one of {', '.join(kinds)}: {example}"
        )
    return found


def write(found: Sheet, kinds: Sequence[str], folder: Path) -> list[Path]:
    """The files of these kinds, of those that are files of one grading."""
    results.make_folder(folder)
    made = []
    for kind in kinds:
        if kind in FILES:
            name, text = FILES[kind]
            (folder / name).write_text(text(found), encoding="utf-8")
            made.append(folder / name)
    return made
