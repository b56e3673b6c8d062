# SPDX-License-Identifier: MIT
"""Reads a line of a file in the repository, to quote it in a message."""

from __future__ import annotations

from grader.course import rungs
from grader.course.foreign import cleaned


def line(file: str, number: int) -> str:
    """Its text without blanks around it; "" if there is none.

    Student code may name any file (#line): nothing outside the repository is quoted.
    """
    try:
        path = (rungs.ROOT / file).resolve()
        if not path.is_file() or rungs.ROOT not in path.parents:
            return ""
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except (OSError, ValueError):  # a name that is too long, or holds a NUL
        return ""
    return cleaned(lines[number - 1].strip()) if 0 < number <= len(lines) else ""
