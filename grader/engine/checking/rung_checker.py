# SPDX-License-Identifier: MIT
"""Runs all checks that the plan has for one rung.

It runs in a process of the schedule. If there is only one slot, it runs in the grader's
process. Before each rung it learns what this run has found about the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from signatures import DIRECTIONS

from grader.checks.check_names import CHECKS
from grader.checks.check_result import CheckResult
from grader.checks.not_run import (
    HOPELESS,
    build_failed,
    needs_gpu,
    of_ours,
    our_fault,
    same_for_backward,
)
from grader.closing import Closing
from grader.course.rungs import EXTENSION, Rung, Selection
from grader.course.tasks import all_tasks
from grader.engine import plan
from grader.engine.answers import records
from grader.engine.checking.compiling import Builds
from grader.engine.checking.grade_extension import Packages
from grader.engine.checking.on_gpu import OnCard
from grader.engine.checking.runnable import Trial
from grader.engine.score import RungResult
from grader.runner.supervisor.session import Worker
from grader.toolchain.extension.package import Package
from grader.toolchain.linking import Links
from grader.toolchain.nvcc import Compiled
from grader.toolchain.products import GONE, Build
from grader.verdicts import Verdict

if TYPE_CHECKING:  # these import torch, which takes seconds
    from grader.checks.subject import Subject
    from grader.engine.checking.inspection import Inspection
    from grader.operators import Case, Operator

# what happens after the numbers of a direction: inspection.py
Look = Callable[[list[CheckResult], str, "list[Case]"], list[CheckResult]]
Known = Mapping[str, Mapping[str, bool]]  # rung -> direction -> it is right
BUILDING = CHECKS["build"]


@dataclass(frozen=True)
class Answer:
    """What was found out about a rung."""

    result: RungResult
    seconds: float = 0.0


class Checker(Closing):
    """Checks the rungs of one selection. Close it when done."""

    def __init__(
        self,
        selection: Selection,
        *,
        seed: int,
        check: str | None = None,
        announce: Callable[[str, str], None] = lambda rung, check: None,
    ) -> None:
        """`check`: forward, gradient or plan.CARD only; `announce` gets each check."""
        self.selection, self.seed, self.check, self.announce = (
            selection,
            seed,
            check,
            announce,
        )
        tasks = *all_tasks(), *selection.tasks
        self.rungs = {r.id: r for task in tasks for r in task.rungs}
        self.builds = Builds(judge=self)
        self.links = self.builds.links
        self.trial = Trial(seed)
        self.packages = Packages(seed, check, announce, self.links, self.on_results)
        self.on_card = OnCard(seed, announce, self.links)
        self._spare: Worker | None = None

    def close(self) -> None:
        """End what was started."""
        self.packages.close()
        if self._spare:
            self._spare.end()
            self._spare = None

    def on_results(self, rung: Rung, results: list[CheckResult]) -> None:
        """Some answers about a rung; for those who want them early."""

    def warm_up(self) -> None:
        """Start a Python worker before it is needed: it imports torch meanwhile."""
        if self._spare is None:
            self._spare = Worker.for_python()

    # ---- one rung --------------------------------------------------------------------

    def answer(self, name: str, *, warm: bool) -> Answer:
        """Everything about one rung; `warm`: one more in Python follows."""
        rung, start = self.rungs[name], time.monotonic()
        try:
            answer = Answer(self._rung(rung, warm=warm))
        except Exception as error:
            found = (
                our_fault(of_ours(error)) if rung.file.exists() else self._gone(rung)
            )
            answer = Answer(RungResult(rung, tuple(found)))
        return replace(answer, seconds=time.monotonic() - start)

    def package(self, name: str) -> Package:
        """Build an operator of lab 05."""
        self.announce(name, BUILDING)
        return self.packages.build(self.rungs[name])

    def is_right(self, links: Links, rung: Rung, direction: str) -> bool:
        """Whether a rung of another ladder may be linked though nobody graded it yet.
        Only a kernel has to be looked at: for C there are given objects.
        """
        kernel = rung.file.suffix == ".cu"
        return kernel and self.trial.is_right(links, rung, direction)

    def _rung(self, rung: Rung, *, warm: bool) -> RungResult:
        if self.check == plan.CARD:
            return self.on_card.alone(rung)
        if rung.exhibit:
            from grader.engine.checking import exposing

            return exposing.exhibit(self, rung, warm=warm)
        if rung.needs:
            return self._only_on_card(rung)
        if plan.kind(rung) == plan.PYTHON:
            return self._python_rung(rung, warm=warm)
        if rung.is_view:
            return self._views(rung)
        return self._compiled_rung(rung)

    def checked_rung(
        self, rung: Rung, operator: Operator | None = None, *, warm: bool = False
    ) -> RungResult:
        """A file that no other one serves, by all questions of its kind, perhaps on the
        cases of another `operator` alone.
        """
        if plan.kind(rung) == plan.PYTHON:
            return self._python_rung(rung, operator, warm=warm)
        if plan.kind(rung) == EXTENSION:
            return self.packages.checked(rung, operator)
        if operator:
            return self._numbers(rung, operator)
        return self._compiled_rung(rung)

    def _gone(self, rung: Rung) -> list[CheckResult]:
        """A file that was there when the grading began."""
        return self._failed(rung, Build({}, error=f"'{rung.shown}' {GONE}"))

    def _failed(self, rung: Rung, built: Build) -> list[CheckResult]:
        """A file without a usable library."""
        found = build_failed(built)
        return found[:1] if rung.is_view else found

    def _views(self, rung: Rung) -> RungResult:
        """A file that makes views: every function that it defines."""
        from grader.engine.checking import check_views

        self.announce(rung.id, BUILDING)
        built = self.builds.whole(rung)
        if built.error or built.forbidden or built.blocked:
            return RungResult(rung, tuple(self._failed(rung, built)))
        found = check_views.each(rung, built, self.seed, self.announce)
        return RungResult(rung, tuple(self.only_wanted(found)))

    def _only_on_card(self, rung: Rung) -> RungResult:
        """A rung that cusim cannot run."""
        from grader.engine.checking import inspect_cuda

        compiled = self._by_nvcc(rung)
        pending = self.only_wanted(needs_gpu(rung, compiled.verdict))
        result = inspect_cuda.with_nvcc(RungResult(rung, tuple(pending)), compiled)
        return self.on_card.checked(result)

    def _python_rung(
        self, rung: Rung, operator: Operator | None = None, *, warm: bool
    ) -> RungResult:
        """A file of lab 01; while it is asked the next worker imports torch. It may be
        asked as an `operator` that has other cases.
        """
        from grader import operators
        from grader.checks.subject import Subject
        from grader.engine.checking.inspect_cpu import HostInspection

        self.warm_up()
        worker, self._spare = self._spare, None
        if warm:
            self.warm_up()
        operator = operator or operators.get(rung.operator)
        subject = Subject(operator, source=rung.file, shown=rung.shown, warm=worker)
        try:
            say = partial(self.announce, rung.id)
            with HostInspection(subject, rung, self.seed, say) as look:
                return RungResult(rung, tuple(self._checks(subject, rung, look)))
        finally:
            subject.close()

    def _compiled_rung(self, rung: Rung) -> RungResult:
        """A file in C or CUDA, and what its own kind of machine adds."""
        result = self._numbers(rung)
        if plan.kind(rung) == plan.CUDA and self.builds.whole(rung).libraries:
            from grader.engine.checking import inspect_cuda

            result = inspect_cuda.with_nvcc(result, self._by_nvcc(rung))
            result = self.on_card.checked(result)
        return result

    def _by_nvcc(self, rung: Rung) -> Compiled:
        """What NVIDIA's compiler says."""
        self.announce(rung.id, CHECKS["nvcc"])
        return self.builds.real(rung)

    def _numbers(self, rung: Rung, operator: Operator | None = None) -> RungResult:
        """Check the directions that a file defines. It may be asked as an `operator`
        that has other cases.
        """
        from grader.engine.checking.runnable import of_build

        self.announce(rung.id, BUILDING)
        built = self.builds.whole(rung)
        if built.error or built.forbidden or built.blocked:
            return RungResult(rung, tuple(build_failed(built)))
        subject = of_build(rung, built, operator)
        try:
            with self._inspection(subject, rung) as look:
                checks = self._checks(subject, rung, look, built.directions)
        finally:
            subject.close()
        return RungResult(rung, tuple(checks), built.uses)

    def _inspection(self, subject: Subject, rung: Rung) -> Inspection:
        """A look at a rung in its other builds, where this machine has them."""
        from grader.engine.checking.inspect_cpu import HostInspection
        from grader.engine.checking.inspect_cuda import DeviceInspection

        words = subject, rung, self.seed, partial(self.announce, rung.id)
        if plan.kind(rung) == plan.CUDA:
            below = plan.is_below(rung, self.selection)
            build = self.builds.other(rung)
            return DeviceInspection(*words, build=build, below=below)
        return HostInspection(
            *words,
            sanitized=lambda: self.builds.sanitized(rung),
            in_turns=lambda: self.builds.in_turns(rung),
        )

    # ---- its questions ---------------------------------------------------------------

    def _checks(
        self,
        subject: Subject,
        rung: Rung,
        look: Look,
        directions: tuple[str, ...] = DIRECTIONS,
    ) -> list[CheckResult]:
        """Forward, then gradient; within each the first failure is the last word. The
        looks at a right rung's other builds come last: they take longer.
        """
        from grader.diagnosis import explanation

        cases, forward_ok = subject.cases(self.seed), not subject.saves
        found: dict[str, list[CheckResult]] = {}
        if "forward" in directions:
            asked = self._direction(subject, rung, "forward", forward_ok=True)
            if not _all_pass(asked):
                asked = self._looked(rung, look, asked, "forward", cases)
            found["forward"] = asked
            # backward is asked of the function: a module may still be missing
            function = [r for r in asked if r.name != plan.MODULE]
            forward_ok = _all_pass(function)
            if subject.python and function[-1].verdict in HOPELESS:
                return self.only_wanted([*asked, same_for_backward(function[-1])])
        if "backward" in directions and self.check in (None, "gradient"):
            words = subject, rung, "backward"
            found["backward"] = self._direction(*words, forward_ok=forward_ok)
        results: list[CheckResult] = []
        for direction, asked in found.items():
            seen = direction == "forward" and not _all_pass(asked)
            whole = asked if seen else self._looked(rung, look, asked, direction, cases)
            results += whole
        return self.only_wanted(explanation.after_wrong_forward(results, subject))

    def _looked(
        self,
        rung: Rung,
        look: Look,
        found: list[CheckResult],
        direction: str,
        cases: list[Case],
    ) -> list[CheckResult]:
        """What was found, and what a look at the rung's other builds adds."""
        whole = look(found, direction, cases)
        self.on_results(
            rung, whole[max(0, len(found) - 1) :]
        )  # the last one has a reason
        return whole

    def only_wanted(self, results: Sequence[CheckResult]) -> list[CheckResult]:
        """CHECK=gradient needs forward to run, but does not report it."""
        kept = records.PARTS.get(self.check or "")
        return [result for result in results if kept in (None, result.direction)]

    def _direction(
        self, subject: Subject, rung: Rung, direction: str, *, forward_ok: bool
    ) -> list[CheckResult]:
        """The questions that are answered by the rung's plain build."""
        from grader.engine.checking import number_checks

        words = subject, rung, direction, self.seed, self.announce
        return number_checks.check(
            *words, on_results=self.on_results, forward_ok=forward_ok
        )


def _all_pass(results: Sequence[CheckResult]) -> bool:
    return all(result.verdict is Verdict.PASS for result in results)
