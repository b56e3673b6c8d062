# SPDX-License-Identifier: MIT
"""Checks memory if a direction in C or Python is right, and finds the reason if not.

A right rung in C runs its cases again with sanitizers. A rung with OpenMP also runs
some cases in a build that reports every access of its threads. For a wrong rung several
modules look for the reason. explanation.py finds a known mistake or a region. access.py
finds the line of a wrong access, and postmortem.py the loop indices of a crash.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from grader.checks.check_names import named
from grader.checks.check_result import (
    NONSENSE,
    CheckResult,
    Tell,
    clocked,
    nobody,
)
from grader.checks.memory import access, team_races
from grader.checks.memory.access import Watched
from grader.checks.subject import Subject
from grader.course.rungs import Rung
from grader.diagnosis import explanation, postmortem, search, which_cases
from grader.diagnosis.repair.locate import locate
from grader.engine import plan
from grader.engine.answers.earlier_links import build
from grader.engine.checking.inspection import Inspection
from grader.operators import Case
from grader.toolchain.products import Build
from grader.verdicts import Verdict

LOCATED = ("forward", "gradient", "memory")  # checks whose failing case is run again


class HostInspection(Inspection):
    """Of a rung in C or Python; its second worker runs the build with sanitizers."""

    def __init__(
        self,
        subject: Subject,
        rung: Rung,
        seed: int,
        announce: Tell = nobody,
        *,
        sanitized: Callable[[], Build | None] = lambda: None,
        in_turns: Callable[[], Build] = lambda: Build({}),
    ) -> None:
        """`sanitized` makes the build with sanitizers, None where there is none, and
        `in_turns` that for the races of a team.
        """
        super().__init__(subject, rung, seed, announce)
        self._sanitized, self._in_turns = sanitized, in_turns
        self._watched: Watched | None = None
        self._asked = False
        self._built: Build | None = None  # with sanitizers

    def close(self) -> None:
        """End the second worker."""
        if self._watched:
            self._watched.close()

    def watched(self) -> Watched | None:
        """The rung in its sanitized build; None if it cannot be had."""
        if not self._asked:
            self._asked = True
            built = self._built = self._sanitized()
            if built and built.libraries:
                self._watched = access.watched(self.subject, built)
        return self._watched

    def _more(self, direction: str, cases: list[Case]) -> list[CheckResult]:
        """The memory check, where there is a build for it, and the races of a team."""
        found = [] if self.subject.python else self._memory(direction, cases)
        if all(result.verdict is Verdict.PASS for result in found):
            found += self._races(direction)
        return found

    def _memory(self, direction: str, cases: list[Case]) -> list[CheckResult]:
        """Of a right rung in C, where this machine has sanitizers."""
        self.announce(named(plan.MEMORY, direction))
        watched = self.watched()
        if self._built and (reason := _differs(self._built, direction)):
            text = (
                f"memory could not be checked; a person has to check the file: {reason}"
            )
            at = self._built.location
            no = Verdict.SUSPECT
            return [CheckResult("memory", direction, no, message=text, location=at)]
        if not watched:
            return []
        try:
            found = clocked(lambda: access.check(watched, cases, direction, self.seed))
        except NONSENSE as error:
            found = _withheld(direction, error)
        if found.verdict in postmortem.FATAL:
            found = self._with_reason(found, cases)
        return [found]

    def _races(self, direction: str) -> list[CheckResult]:
        """Of a right rung with OpenMP; threads of its own are named."""
        if self.subject.python:
            return []
        library = self.subject.libraries[team_races.DTYPE][direction == "backward"]
        unwatched = team_races.started(library, direction)
        if plan.RACES not in {q.name for q in plan.questions(self.rung, direction)}:
            return [unwatched] if unwatched else []
        self.announce(named(plan.RACES, direction))
        words = self.subject, self._in_turns(), direction, self.seed
        found = clocked(lambda: team_races.check(*words))
        return [unwatched if unwatched and found.verdict is Verdict.PASS else found]

    def _explained(self, result: CheckResult, cases: list[Case]) -> CheckResult:
        """A failed check with all that can be said about it."""
        if result.verdict is Verdict.NOT_IMPLEMENTED:
            return result
        if self.subject.python:
            result = explanation.explain(self.subject, result, cases, self.seed)
            return self._located(result, cases)
        if result.name not in LOCATED:
            return result
        if result.name == "memory":
            return self._after_death(result)
        result = explanation.explain(self.subject, result, cases, self.seed)
        if watched := self.watched():
            result = access.locate(watched, result, self.seed)
            watched.drop(access.DTYPE)  # no thread of it lives on in the next check
        outside = result.verdict is Verdict.MEMORY_ERROR
        if outside and result.mistake in (None, *search.OF_TERMS):
            # the message names the line; which cases or terms are wrong besides tells
            # nothing, unless only views are, or vectors
            words = result.diagnosis or ""
            names_cause = "a view" in words or which_cases.ONE_AXIS in words
            text = words if names_cause else None
            result = replace(result, diagnosis=text, mistake=None)
        result = explanation.name_of_null(self._after_death(result))
        return self._located(result, cases)

    def _located(self, result: CheckResult, cases: list[Case]) -> CheckResult:
        """The result with the line that decides, if one small change helps there."""
        return locate(self.rung, self.subject, result, cases, self.seed)

    def _after_death(self, result: CheckResult) -> CheckResult:
        return postmortem.explain(self.rung, self.subject, result, self.seed, build)


def _differs(built: Build, direction: str) -> str:
    """Why a sanitized build is none, though the one without sanitizers is right."""
    if not built.libraries:
        said = built.forbidden or built.blocked or built.error
        return f"the build with sanitizers failed: {said}"
    if direction not in built.directions:
        return f"the build with sanitizers has no {direction}"
    return ""


def _withheld(direction: str, error: Exception) -> CheckResult:
    """The memory check itself stumbled over what the rung left behind."""
    text = (
        "the result of the memory check could not be read; a person has to check the "
        "file: "
    )
    reason = type(error).__name__
    return CheckResult("memory", direction, Verdict.SUSPECT, message=text + reason)
