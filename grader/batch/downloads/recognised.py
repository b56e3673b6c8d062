# SPDX-License-Identifier: MIT
"""Finds out which platform a folder comes from.

Any other folder is an inbox: each entry is called after its student.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from grader.batch.downloads import canvas, classroom, gradescope, moodle
from grader.batch.downloads.download import Attempt, Download, HandIn
from grader.course.handed import inbox
from grader.errors import GraderError

LABS = "labs"


def read(folder: Path, work: Path, *, packed: bool, labs: Collection[str]) -> Download:
    """Everybody's work. A platform may put one more folder around it, and so may an
    archive, `packed`; one with a lab in it is a student's own.

    `work` is a folder for files that are made. Raises GraderError.
    """
    inside = _only_folder(folder)
    for place in (folder, inside):
        if place and (found := _of_platform(place, work)):
            return found
    if packed and inside and not {one.name for one in inside.iterdir()} & {LABS, *labs}:
        folder = inside
    return _inbox(folder)


def _only_folder(folder: Path) -> Path | None:
    """The folder that is all there is in a folder."""
    inside = _entries(folder)
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else None


def _entries(folder: Path) -> list[Path]:
    """What lies in a folder, but for names that begin with a dot."""
    if not folder.is_dir():
        return []
    return sorted(one for one in folder.iterdir() if not one.name.startswith("."))


def _of_platform(folder: Path, work: Path) -> Download | None:
    entries = _entries(folder)
    return (
        gradescope.read(folder)
        or moodle.read(entries)
        or canvas.read(entries)
        or classroom.read(folder, entries, work)
    )


def _inbox(folder: Path) -> Download:
    hand_ins = []
    for name, files in inbox.students(folder).items():
        marks = {"id": name, "name": name, "team": name}
        try:
            hand_ins.append(HandIn((marks,), (Attempt(inbox.only(files)),)))
        except GraderError as error:
            hand_ins.append(HandIn((marks,), why=str(error)))
    return Download(tuple(hand_ins))
