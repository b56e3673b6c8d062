# SPDX-License-Identifier: MIT
"""One archive of a whole class, unpacked: a folder with an entry of each student."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path, PurePosixPath

from grader.course.handed import opened
from grader.errors import of_machine

ASIDE = "__MACOSX"


def unpacked(
    archive: Path, folder: Path, labs: Collection[str]
) -> tuple[Path, list[str]]:
    """The folder with the students, below the one that is given; and what is left out:
    links, devices and names that lead elsewhere or that no disk takes.

    If one folder stands around all students, they lie in it; one with a lab in it is a
    student's own. Raises GraderError for an archive that is damaged, or much too large.
    """
    left = []
    for member in opened.members(archive):
        place = None if member.wrong else _place(member.path)
        if place is None or not _written(folder / place, member):
            left.append(member.path)
    inside = [one for one in folder.iterdir() if not one.name.startswith(".")]
    if len(inside) != 1 or not inside[0].is_dir():
        return folder, left
    own = {one.name for one in inside[0].iterdir()} & {"labs", *labs}
    return (folder if own else inside[0]), left


def _place(path: str) -> PurePosixPath | None:
    """The path of a member below the folder, or None if it must not be written."""
    place = PurePosixPath(path)
    odd = place.is_absolute() or ".." in place.parts or "\0" in path
    return None if odd or not place.parts or place.parts[0] == ASIDE else place


def _written(file: Path, member: opened.Member) -> bool:
    """Whether a member has its place now. One that cannot be read is an empty file: its
    student is told so.
    """
    try:
        data = member.read()
    except opened.DAMAGED:
        data = b""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and of_machine(error):
            raise
        return False
    return True
