# SPDX-License-Identifier: MIT
"""Finds the rung that a rung is compared with: the nearest lower one in the ladder."""

from __future__ import annotations

import re

from signatures import DIRECTIONS

from grader.course.rungs import Rung, Task

_HEAD = re.compile(r"\A\s*(/\*.*?\*/\n|(#[^\n]*\n)+)?", re.DOTALL)


def below(rung: Rung, task: Task) -> Rung | None:
    """None if there is none: then the rung begins something. No exhibit of a bug hunt
    has one: the others are of other operators.
    """
    if rung.exhibit:
        return None
    mine = defined(rung)
    lower = [other for other in task.rungs if other.id < rung.id]
    return next((r for r in reversed(lower) if defined(r) & mine), None)


def defined(rung: Rung) -> set[str]:
    """The directions whose functions stand in a file, as its text has it."""
    operator = rung.operator
    text = rung.file.read_text(encoding="utf-8", errors="replace")
    if rung.file.suffix == ".py":
        return set(DIRECTIONS)
    found = rf"^status_t {operator}_({'|'.join(DIRECTIONS)})\("
    return set(re.findall(found, text, re.MULTILINE))


def body(text: str) -> list[str]:
    """A file's lines without its head comment, which differs in every rung."""
    return _HEAD.sub("", text, count=1).splitlines()
