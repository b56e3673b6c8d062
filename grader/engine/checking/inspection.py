# SPDX-License-Identifier: MIT
"""Runs more checks if a direction is right, and looks for the reason if it is wrong.

inspect_cpu.py does this for a rung in C or Python, inspect_cuda.py for one in CUDA.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace

from grader.checks.check_result import CheckResult, Tell, nobody
from grader.checks.not_run import of_ours
from grader.checks.subject import Subject
from grader.closing import Closing
from grader.course.rungs import Rung
from grader.operators import Case
from grader.verdicts import Verdict


class Inspection(Closing):
    """Of one rung; starts more workers when they are needed. Close it when done."""

    def __init__(
        self, subject: Subject, rung: Rung, seed: int, announce: Tell = nobody
    ) -> None:
        """`announce` gets each check before it runs."""
        self.subject, self.rung, self.seed = subject, rung, seed
        self.announce = announce

    def __call__(
        self, results: list[CheckResult], direction: str, cases: list[Case]
    ) -> list[CheckResult]:
        """The checks of a direction, the last one with its reason, or more checks."""
        if not results:
            return results
        last = results[-1]
        if last.verdict is not Verdict.PASS:
            return [*results[:-1], self._with_reason(last, cases)]
        return [*results, *self._more(direction, cases)]

    @abstractmethod
    def _more(self, direction: str, cases: list[Case]) -> list[CheckResult]:
        """The checks that follow where all so far have passed."""

    def _with_reason(self, result: CheckResult, cases: list[Case]) -> CheckResult:
        """A failed check explained; if that fails, its verdict stands and says so."""
        if result.verdict is not Verdict.NOT_IMPLEMENTED:
            self.announce(f"the cause of the failure, {result.direction}")
        try:
            return self._explained(result, cases)
        except Exception as error:
            text = f"the likely cause could not be found: {of_ours(error)}"
            return replace(result, diagnosis=text)

    @abstractmethod
    def _explained(self, result: CheckResult, cases: list[Case]) -> CheckResult:
        """A failed check with all that can be said about it."""
