# SPDX-License-Identifier: MIT
"""Finds the submission of each student in a folder: each is named after its student."""

from __future__ import annotations

import unicodedata
from pathlib import Path

from grader.course.foreign import one_line
from grader.course.handed import opened
from grader.errors import GraderError


def named(text: str) -> str:
    """A student's name in one spelling: an e and its accent are one letter (NFC), and
    bytes that are no UTF-8 are written as \\xe9.
    """
    plain = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return unicodedata.normalize("NFC", plain).strip()


def students(folder: Path) -> dict[str, list[Path]]:
    """The submissions of a folder by student. Files that begin with a dot are none.

    Raises GraderError for what is no folder, or an empty one.
    """
    shown = one_line(str(folder))
    try:
        files = sorted(folder.iterdir())
    except (OSError, ValueError) as error:
        raise GraderError(
            f"SUBMISSIONS= is {shown!r}, expected a folder with an archive of each "
            "student"
        ) from error
    found: dict[str, list[Path]] = {}
    for file in files:
        if not file.name.startswith("."):
            name = file.name if file.is_dir() else opened.stem(file.name)
            found.setdefault(named(name) or named(file.name), []).append(file)
    if not found:
        raise GraderError(
            f"SUBMISSIONS= is {shown!r}, but this folder is empty: expected an archive "
            "of each student"
        )
    return found


def only(files: list[Path]) -> Path:
    """The one submission of a student. Raises GraderError if there are several."""
    if len(files) > 1:
        listed = ", ".join(one_line(file.name) for file in files)
        raise GraderError(
            f"several submissions have this name: {listed}; keep only one"
        )
    return files[0]
