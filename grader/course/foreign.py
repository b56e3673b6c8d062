# SPDX-License-Identifier: MIT
"""Cleans text that others wrote, before it reaches a terminal, a page or a log.

A compiler error (#error), an exception, a line of source and a program's output can all
hold a student's text. Such text may contain terminal commands (ESC, OSC) or letters
that reverse the reading direction. It may also be endless. `cleaned` removes all of it.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

MORE = " ..."  # in place of what is left out
LONGEST = 2000  # characters of a line
THE_LINE = "; the line is: "  # a message ends with it, and a line of source

_PLACE = re.compile(r"(.+?):\d{1,9}(?::\d{1,9})?")


def cleaned(text: str) -> str:
    """The text without control and formatting characters, its lines cut to size."""
    shown = "".join(c if c.isprintable() or c == "\n" else _instead(c) for c in text)
    if len(shown) <= LONGEST:
        return shown
    return "\n".join(_cut(line) for line in shown.split("\n"))


def one_line(text: str) -> str:
    """The same in one line: a name that somebody gave."""
    return " ".join(cleaned(text).split("\n"))


def _instead(character: str) -> str:
    return " " if character == "\t" else "?"


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}..."


def short(text: str, most: int) -> str:
    """A line of at most so many characters, that ends with a whole word, if it has
    several.
    """
    if len(text) <= most:
        return text
    shown = textwrap.shorten(text, most, placeholder=MORE)
    return shown if shown != MORE.strip() else text[: most - len(MORE)] + MORE


def named_file(location: str, root: Path) -> Path | None:
    """The file of file:line, where `root` is what it starts from; None for nonsense.
    Student code may name any file: by #line, or in a traceback of its own.
    """
    match = _PLACE.fullmatch(location)
    try:
        return (root / match[1]).resolve() if match else None
    except (OSError, ValueError):  # a name that no system takes
        return None


def clean(raw: bytes) -> str:
    """Text from a process, up to its first zero byte, without control characters."""
    return cleaned(raw.split(b"\0", 1)[0].decode(errors="replace"))
