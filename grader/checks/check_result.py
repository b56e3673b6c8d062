# SPDX-License-Identifier: MIT
"""Defines the result of a check, in the words that reports use."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from grader.checks.heat_map import HeatMap
from grader.checks.printed import Printed
from grader.course.foreign import cleaned
from grader.verdicts import Verdict

Tell = Callable[[str], None]  # who wants to know which step is taken


IN_FULL = {"f16": "float16", "f32": "float32", "f64": "float64"}  # dtypes, in words


def nobody(step: str) -> None:
    """Wants to know nothing of a step."""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong: a verdict, a sentence, and where to look."""

    verdict: Verdict
    message: str
    case: str = ""
    location: str | None = None  # file:line
    mistake: str | None = None  # its name, if the message tells one (named_mistakes.py)


@dataclass(frozen=True)
class CheckResult:
    """The outcome of one check of one rung, for one dtype."""

    name: str  # build, forward, no_memory, module, audit ...
    direction: str  # whose points it decides: forward or backward
    verdict: Verdict
    dtype: str = ""  # f32, f64
    cases: int = 0
    failed: int = 0
    message: str = ""
    location: str | None = None
    replay: str | None = None  # the case that failed; once told, the command (score.py)
    self_reported: bool = False  # rests on what the worker says of itself
    diagnosis: str | None = None  # what went wrong, as far as it can be told
    mistake: str | None = None  # the name of a known mistake it equals
    heat: HeatMap | None = None  # which elements of the smallest case are wrong
    printed: Printed | None = None  # by the file itself, in the case that failed
    of: int = 0  # of a file that may leave cases: how many there are, with `cases`
    asked: Mapping[str, int] = field(default_factory=dict)  # family -> results
    left: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # that it leaves
    seconds: float = field(default=0.0, compare=False)  # that the check took

    def __post_init__(self) -> None:
        """Whatever shows a result shows it clean, words of student code too."""
        for name in ("message", "diagnosis", "location"):
            said = getattr(self, name)
            object.__setattr__(self, name, said and cleaned(said))


# What reading a worker's words may raise, since student code may have written them: too
# many digits, a number out of range, a file's name that no system takes, thousands of
# nested brackets. Anything else is a mistake of the grader's own and has to show.
NONSENSE = (ValueError, LookupError, ArithmeticError, OSError, RecursionError)


def clocked(check: Callable[[], CheckResult]) -> CheckResult:
    """A check's result with the seconds it took, explanation and builds included."""
    start = time.monotonic()
    result = check()
    return replace(result, seconds=round(time.monotonic() - start, 3))


class Stopped(Exception):
    """A check cannot go on: the worker is gone, or the code does not exist."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


def with_stop(findings: list[Finding], last: Finding) -> list[Finding]:
    """The findings of a check that had to stop. What ended it speaks for it, unless it
    is only that elements were missing and something was wrong before.
    """
    if last.verdict is Verdict.INCOMPLETE and findings:
        return [*findings, last]
    return [last, *findings]


def summarize(
    name: str,
    direction: str,
    dtype: str,
    cases: int,
    findings: list[Finding],
    *,
    self_reported: bool = False,
) -> CheckResult:
    """A check's result from its findings: the first one speaks for it."""
    if not findings:
        return CheckResult(name, direction, Verdict.PASS, dtype, cases)
    first = findings[0]
    message = f"{first.case}: {first.message}" if first.case else first.message
    return CheckResult(
        name,
        direction,
        first.verdict,
        dtype,
        cases,
        len(findings),
        message,
        first.location,
        first.case or None,
        self_reported or first.verdict is Verdict.FORBIDDEN,
        mistake=first.mistake,
    )
