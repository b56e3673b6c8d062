# SPDX-License-Identifier: MIT
"""Lists the small changes of a student's Python file, the most likely ones first."""

from __future__ import annotations

from collections.abc import Iterator

from grader.diagnosis.repair.in_python import (
    python_additions,
    python_exchanges,
    python_operators,
)
from grader.diagnosis.repair.in_python.python_source import Change, Source, scopes
from grader.diagnosis.repair.small_change import Edit

MOST = 1500  # changes of a file
LONGEST = 40  # characters of what stands there: it is told in one sentence


def edited_texts(text: str, direction: str) -> list[tuple[Edit, str]]:
    """Lists all changes of a file, each with the whole text after it.

    They are in functions that the direction runs: "forward" or "backward". A file that
    is not Python has none. Every text has the lines of the file, with the same numbers.
    """
    try:
        source = Source(text)
        found = sorted(_changes(source, direction), key=lambda one: one[0])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    made: list[tuple[Edit, str]] = []
    seen = {text}
    for _, change in found:
        edit = _edit(source, change)
        if edit is None:
            continue
        new = source.changed(change.parts)
        if new not in seen:
            seen.add(new)
            made.append((edit, new))
        if len(made) == MOST:
            break
    return made


def _changes(
    source: Source, direction: str
) -> Iterator[tuple[tuple[int, int, int], Change]]:
    """All changes, each with its place in the order."""
    number = 0
    for scope in scopes(source, direction):
        for kind in (
            *python_exchanges.ALL,
            *python_operators.ALL,
            *python_additions.ALL,
        ):
            for change in kind(scope):
                yield (change.tier + scope.later, change.rank, number), change
                number += 1


def _edit(source: Source, change: Change) -> Edit | None:
    """The change in words; None if it cannot be told in one line."""
    start, end = change.about
    old = source.words(start, end)
    if not old or "\n" in old or len(old) > LONGEST:
        return None
    for first, last, new in change.parts:
        if source.words(first, last).count("\n") != new.count("\n"):
            return None
    new = ", ".join(new for _, _, new in change.parts)
    return Edit(source.line(start), change.kind, old, new)
