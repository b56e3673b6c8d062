# SPDX-License-Identifier: MIT
"""Checks order, memory, races and traffic if a direction in CUDA is right.

It is the counterpart of inspect_cpu.py, which is for a rung in C. A right rung is
checked in its other builds. For a wrong rung the failing case runs in these builds, to
find the line that explains it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from signatures import DIRECTIONS

from grader.checks.check_names import named
from grader.checks.check_result import (
    NONSENSE,
    CheckResult,
    Tell,
    clocked,
    nobody,
)
from grader.checks.cuda import cusim_report, under_cusim
from grader.checks.subject import Subject
from grader.checks.values import each_dtype
from grader.course.architectures import HALF
from grader.course.rungs import Rung
from grader.diagnosis import explanation
from grader.engine import plan
from grader.engine.checking.inspection import Inspection
from grader.engine.score import RungResult
from grader.operators import Case
from grader.toolchain.nvcc import Compiled
from grader.toolchain.products import SANITIZE, TRACE, Build
from grader.verdicts import Verdict

BUILDS = {"memory": SANITIZE, "races": TRACE, "traffic": TRACE}  # check -> mode
LOCATED = ("forward", "gradient", "order", "gradcheck")  # their case is run again
UNEXPLAINED = (
    Verdict.WRONG_VALUE,
    Verdict.WRONG_GRADIENT,
    Verdict.INCOMPLETE,
    Verdict.CRASH,
    Verdict.TIMEOUT,
    Verdict.MEMORY_ERROR,
    Verdict.RACE,
)


def with_nvcc(result: RungResult, compiled: Compiled) -> RungResult:
    """The rung's result with what nvcc said: a failure costs both directions."""
    checks = result.checks
    verdict, message = compiled.verdict, compiled.message
    if verdict is Verdict.SKIPPED and os.environ.get("CI", "").lower() == "true":
        verdict = Verdict.BUILD
        message += "; CI needs nvcc (the package nvidia-cuda-nvcc)"
    if verdict in (Verdict.BUILD, Verdict.TIMEOUT):
        checks = tuple(c for c in checks if c.verdict is not Verdict.PENDING_GPU)
        checks += tuple(
            CheckResult(
                "nvcc", direction, verdict, message=message, location=compiled.location
            )
            for direction in DIRECTIONS
            if result.verdict(direction)
        )
    return replace(result, checks=checks, nvcc=compiled)


def _asking(check: CheckResult) -> CheckResult:
    said = check.diagnosis and cusim_report.as_question(check.diagnosis)
    return replace(
        check, message=cusim_report.as_question(check.message), diagnosis=said
    )


class DeviceInspection(Inspection):
    """Of one rung; starts a worker for each build that it needs. Close it when done."""

    def __init__(
        self,
        subject: Subject,
        rung: Rung,
        seed: int,
        announce: Tell = nobody,
        *,
        build: Callable[..., Build],
        below: bool = False,
    ) -> None:
        """`build` makes the rung in a mode. A rung `below` another one is looked at for
        less time.
        """
        super().__init__(subject, rung, seed, announce)
        self._below = below
        self._build = build
        self._watched: dict[tuple[str, str], Subject | CheckResult] = {}  # mode, dtype

    def __call__(
        self, results: list[CheckResult], direction: str, cases: list[Case]
    ) -> list[CheckResult]:
        """As ever; of an exhibit, whose bug is to be found, none tells the repair."""
        found = super().__call__(results, direction, cases)
        return [_asking(check) for check in found] if self.rung.exhibit else found

    def close(self) -> None:
        """End the workers of all builds."""
        for subject in self._watched.values():
            if isinstance(subject, Subject):
                subject.close()

    def _more(self, direction: str, cases: list[Case]) -> list[CheckResult]:
        """The questions of the plan that cusim answers, up to the first failure."""
        results: list[CheckResult] = []
        for question in plan.questions(self.rung, direction):
            if question.name not in plan.UNDER_CUSIM:
                continue
            self.announce(named(question.name, direction))
            for dtype in question.dtypes:
                words = question.name, direction, cases, dtype
                results.append(clocked(partial(self._guarded, *words)))
                if results[-1].verdict is not Verdict.PASS:
                    return results
        return results

    def _guarded(
        self, name: str, direction: str, cases: list[Case], dtype: str
    ) -> CheckResult:
        """A check that stumbles over what the rung left behind withholds the points."""
        try:
            return self._check(name, direction, cases, dtype)
        except NONSENSE as error:
            text = (
                f"the check '{name}' gave a result that could not be read; a person "
                "has to check the file: "
            )
            text += type(error).__name__
            return CheckResult(name, direction, Verdict.SUSPECT, message=text)

    def _check(
        self, name: str, direction: str, cases: list[Case], dtype: str
    ) -> CheckResult:
        if dtype == HALF:
            cases = each_dtype.ordinary(cases)
        if name == "order":
            about = self.subject, cases, direction, self.seed, dtype
            found = under_cusim.order(*about, large=not self.rung.exhibit)
            return found if found.verdict.ok else self._with_reason(found, cases)
        watched = self._watch(BUILDS[name], dtype)
        if isinstance(watched, CheckResult):
            return replace(watched, name=name, direction=direction)
        if name == "traffic":
            return self._moved(watched, direction, cases)
        words = name, watched, cases, direction, self.seed
        return under_cusim.look(*words, dtype=dtype, below=self._below)

    def _moved(
        self, watched: Subject, direction: str, cases: list[Case]
    ) -> CheckResult:
        """The traffic of the first case that is over its limit, or of the last."""
        for limits in self.rung.traffic:
            if limits.direction == direction:
                found = under_cusim.traffic(
                    watched, limits, cases, self.seed, self.subject
                )
                if not found.verdict.ok:
                    break
        return found

    def _watch(
        self, mode: str, dtype: str = under_cusim.DTYPE
    ) -> Subject | CheckResult:
        """The rung in another build, or why there is none."""
        if (mode, dtype) not in self._watched:
            built = self._build(mode=mode)
            library = built.libraries.get(dtype)
            if library is None:
                said = built.forbidden or built.blocked or built.error
                text = f"the file does not compile in the build for checks: {said}"
                no = Verdict.SUSPECT
                made = CheckResult("", "", no, message=text, location=built.location)
                self._watched[mode, dtype] = made
            else:
                libraries = {dtype: (library, library)}
                watched = Subject(self.subject.operator, libraries=libraries)
                self._watched[mode, dtype] = self.subject.judges(watched)
        return self._watched[mode, dtype]

    # ---- reasons ---------------------------------------------------------------------

    def _explained(self, result: CheckResult, cases: list[Case]) -> CheckResult:
        if result.name not in LOCATED or result.verdict not in UNEXPLAINED:
            return result
        if result.verdict is Verdict.TIMEOUT:  # of a host loop: a kernel's is a spin
            return explanation.explain(self.subject, result, cases, self.seed)
        if not result.location:
            located = self._located(result, cases)
            if located.location or result.name == "order":
                return located
        return explanation.explain(self.subject, result, cases, self.seed)

    def _located(self, result: CheckResult, cases: list[Case]) -> CheckResult:
        """The same with the line that cusim finds in the failing case, if it does."""
        numbered = {case.name: (i, case) for i, case in enumerate(cases)}
        if result.replay not in numbered:
            return result
        i, case = numbered[result.replay]
        for name in ("memory", "races"):
            watched = self._watch(BUILDS[name])
            if isinstance(watched, CheckResult):
                continue
            watched.begin()
            watched.warnings = under_cusim.WARNINGS[name]
            words = (name, watched, case, i, result.direction, self.seed)
            for _ in range(2):  # the second call finds what the first one left behind
                found = under_cusim.run_case(*words)
                if found and found.location and found.verdict in UNEXPLAINED:
                    return replace(
                        result,
                        verdict=found.verdict,
                        message=f"{case.name}: {found.message}",
                        location=found.location,
                        mistake=found.mistake,
                    )
        return result
