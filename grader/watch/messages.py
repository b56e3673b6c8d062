# SPDX-License-Identifier: MIT
"""Defines the messages between the terminal and the process that grades."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from grader.checks.check_result import CheckResult
from grader.engine.score import TaskResult


@dataclass(frozen=True)
class Asked:
    """Grade what `wanted` names (T=; "" is everything); `fresh`: whatever is known."""

    number: int
    wanted: str
    fresh: bool = False


@dataclass(frozen=True)
class Unwanted:
    """End the request of this number early."""

    number: int


@dataclass(frozen=True)
class Told:
    """Something about a request, by its number."""

    number: int


@dataclass(frozen=True)
class Ready(Told):
    """The process has started: from now on it can be told to abandon a request."""


@dataclass(frozen=True)
class Step(Told):
    """What is being done, of which rung."""

    rung: str
    words: str


@dataclass(frozen=True)
class Heard(Told):
    """Answers about a rung, as they come; a later one of the same name replaces it."""

    rung: str
    checks: tuple[CheckResult, ...]


@dataclass(frozen=True)
class Ended(Told):
    """All answers about a task; times, if they are taken, come after it."""

    result: TaskResult


@dataclass(frozen=True)
class Graded(Told):
    """The last word: all tasks with their times, and what each of the course has
    earned.
    """

    results: tuple[TaskResult, ...]
    points: Mapping[str, float]  # by task
    seconds: float


@dataclass(frozen=True)
class Refused(Told):
    """It could not be graded, and why."""

    sentence: str


@dataclass(frozen=True)
class Abandoned(Told):
    """It was ended early, as was asked."""
