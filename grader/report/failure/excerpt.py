# SPDX-License-Identifier: MIT
"""Shows the lines of a graded file around the line where a check failed.

They are shown only if the file has not changed since the grading. So its sha256 is
compared with the one in results.json. In a changed file the mark could be on the wrong
line.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from grader.course.foreign import cleaned
from grader.course.tasks import LARGEST

AROUND = 4  # lines before and after
WIDEST = 200  # characters of a line

_LOCATION = re.compile(r"(?P<file>.+?):(?P<line>\d{1,7})(?::\d+)?")


@dataclass(frozen=True)
class Line:
    """One line of source."""

    number: int
    text: str
    marked: bool


@dataclass(frozen=True)
class Excerpt:
    """Lines of a file, or the sentence that says why there are none."""

    lines: tuple[Line, ...] = ()
    why_not: str = ""

    def near(self, around: int) -> tuple[Line, ...]:
        """The marked line and so many before and after it."""
        at = next((line.number for line in self.lines if line.marked), 0)
        return tuple(n for n in self.lines if abs(n.number - at) <= around)


def excerpt(location: str, *, file: str, sha256: str, root: Path) -> Excerpt | None:
    """The lines around `location`; None if it lies outside of the graded file."""
    match = _LOCATION.fullmatch(location)
    if match is None or not _same(match["file"], file):
        return None
    source = _graded(root, file, sha256)
    if source is None:
        return Excerpt(why_not="no excerpt: the file is not the one that was graded")
    lines = [cleaned(line) for line in source.splitlines()]
    marked = int(match["line"])
    if not 1 <= marked <= len(lines):
        return Excerpt(why_not=f"no excerpt: the file has only {len(lines)} lines")
    first, last = max(1, marked - AROUND), min(len(lines), marked + AROUND)
    return Excerpt(
        tuple(
            Line(number, _narrow(lines[number - 1]), number == marked)
            for number in range(first, last + 1)
        )
    )


def _same(named: str, file: str) -> bool:
    return named == file or named.endswith("/" + file)


def _graded(root: Path, file: str, sha256: str) -> str | None:
    """The file's text, if it is a file of the labs and the one that was graded."""
    path = root / file
    try:
        inside = path.resolve().is_relative_to((root / "labs").resolve())
        if not inside or not path.is_file() or path.stat().st_size > LARGEST:
            return None
        contents = path.read_bytes()
    except (OSError, ValueError):
        return None
    if hashlib.sha256(contents).hexdigest() != sha256:
        return None
    return contents.decode(errors="replace")


def _narrow(line: str) -> str:
    line = line.expandtabs(4)
    return line if len(line) <= WIDEST else line[:WIDEST] + " ..."
