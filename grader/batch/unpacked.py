# SPDX-License-Identifier: MIT
"""Unpacks the one archive of a whole class into a folder."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from grader.course.handed import opened
from grader.errors import of_machine

ASIDE = "__MACOSX"


def unpack(archive: Path, folder: Path) -> list[str]:
    """Write the files of an archive below a folder. Returns those that are left out:
    links, devices, a second file of one name, and names that lead elsewhere or that no
    disk takes. Raises GraderError for an archive that is damaged, or much too large.
    """
    left = []
    for member in opened.members(archive):
        place = None if member.wrong else _place(member.path)
        if place is None or not _written(folder / place, member):
            left.append(member.path)
    return left


def _place(path: str) -> PurePosixPath | None:
    """The path of a member below the folder, or None if it must not be written."""
    place = PurePosixPath(path)
    odd = place.is_absolute() or ".." in place.parts or "\0" in path
    return None if odd or not place.parts or place.parts[0] == ASIDE else place


def _written(file: Path, member: opened.Member) -> bool:
    """Whether a member has its place now. One that cannot be read ends where it is
    damaged: its student is told so.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("xb") as new:
            for piece in _readable(member):
                new.write(piece)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and of_machine(error):
            raise
        return False
    return True


def _readable(member: opened.Member) -> Iterator[bytes]:
    """The contents up to the first damage."""
    with contextlib.suppress(*opened.DAMAGED):
        yield from member.pieces()
