# SPDX-License-Identifier: MIT
"""Shows what a file printed, under a heading that names the file.

Each line has a bar in front, so that no line looks like a line of the grader.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from grader.checks.check_result import CheckResult
from grader.engine.score import RungResult, TaskResult

FILES = 3  # of which the output is shown, beside those that fail


def lines(check: CheckResult) -> list[str]:
    """A heading and the lines; nothing where nothing was printed."""
    said = check.printed
    if said is None:
        return []
    when = f"in case {said.case}" if said.case else "while it was loaded"
    more = ["| ..."] if said.more else []
    return [f"the file itself printed, {when}:", *(f"| {x}" for x in said.lines), *more]


def of_rung(rung: RungResult) -> list[str]:
    """Of the checks of a file the first in which it printed."""
    return next(filter(None, map(lines, rung.checks)), [])


def others(
    results: Sequence[TaskResult], shown: Collection[str]
) -> Iterator[tuple[str, list[str]]]:
    """Some more files that print, those left out whose output is shown already."""
    rungs = [r for result in results for r in result.rungs if r.rung.id not in shown]
    found = [(rung.rung.id, said) for rung in rungs if (said := of_rung(rung))]
    yield from found[:FILES]
