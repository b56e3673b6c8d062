# SPDX-License-Identifier: MIT
"""Keeps what a file printed while a case ran, for students who debug by printing.

These are the words of student code. So they are cut and lose their control characters.
They are shown on separate lines, never inside a sentence of the grader.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from grader.course.foreign import clean

LINES, WIDTH = 8, 100  # that are kept
CASES = 400  # of one check whose words are kept
LOADED = ""  # in place of a case: while the file was loaded
_FAULT = b"Fatal Python error"  # from here on they are faulthandler's words

Words = dict[str, tuple[bytes, int]]  # case -> the first bytes, and how many follow


@dataclass(frozen=True)
class Printed:
    """The first lines of one case."""

    case: str
    lines: tuple[str, ...]
    more: bool  # there was more


def keep(words: Words, case: str, said: tuple[bytes, int]) -> None:
    """Remember what came while a case ran; of its dtypes the first that said a word."""
    text, dropped = said
    text = text.partition(_FAULT)[0]
    if text.strip() and len(words) < CASES:
        words.setdefault(case, (text, dropped))


def of_case(words: Words, case: str | None) -> Printed | None:
    """What was printed in the case that failed, or else in the first with a word."""
    if not words:
        return None
    name = case if case in words else next(iter(words))
    text, dropped = words[name]
    lines = clean(text.replace(b"\0", b"?")).rstrip().split("\n")
    shown = tuple(line[:WIDTH].rstrip() for line in lines[:LINES])
    cut = any(len(line) > WIDTH for line in lines[:LINES])
    return Printed(name, shown, bool(dropped) or cut or len(lines) > LINES)


def printed(entry: Mapping[str, Any] | None) -> Printed | None:
    """The same from JSON."""
    if not entry:
        return None
    return Printed(entry["case"], tuple(entry["lines"]), entry["more"])
