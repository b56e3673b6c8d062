# SPDX-License-Identifier: MIT
"""Asks everything that the plan has for one rung.

Runs in a process of the schedule, or in the grader's own where there is one slot. It is
told before each rung what this run has found out about the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from signatures import DIRECTIONS

from grader.checks.check_result import CheckResult
from grader.checks.unrun import (
    HOPELESS,
    build_failed,
    needs_gpu,
    no_forward,
    of_ours,
    our_fault,
    same_for_backward,
)
from grader.closing import Closing
from grader.course.rungs import EXTENSION, Rung, Selection
from grader.course.tasks import all_tasks
from grader.course.uses import LOWER
from grader.engine import plan
from grader.engine.answers import records
from grader.engine.asking.compiling import Builds
from grader.engine.asking.grade_extension import Packages
from grader.engine.asking.lending import Lending, Libraries, counted, paired
from grader.engine.asking.on_gpu import OnCard
from grader.engine.score import RungResult
from grader.runner.supervisor.session import Worker
from grader.toolchain.extension.package import Package
from grader.toolchain.linking import Links
from grader.toolchain.products import GONE, Build
from grader.verdicts import Verdict

if TYPE_CHECKING:  # these import torch, which takes seconds
    from grader.checks.subject import Subject
    from grader.checks.values.fallback import Classes
    from grader.engine.asking.inspection import Inspection
    from grader.operators import Case, Operator

# what happens after the numbers of a direction: inspection.py
Look = Callable[[list[CheckResult], str, "list[Case]"], list[CheckResult]]
Known = Mapping[str, Mapping[str, bool]]  # rung -> direction -> it is right
Lower = Mapping[str, Rung]  # direction -> the rung that lends it


@dataclass(frozen=True)
class Answer:
    """What was found out about a rung, and what timing it needs."""

    result: RungResult
    libraries: Libraries = field(default_factory=dict)
    seconds: float = 0.0


class Asker(Closing):
    """Asks rungs of one selection. Close it when done."""

    def __init__(
        self,
        selection: Selection,
        *,
        seed: int,
        check: str | None = None,
        tell: Callable[[str, str], None] = lambda rung, check: None,
    ) -> None:
        """`check`: forward, gradient or plan.CARD only; `tell` hears of the checks."""
        self.selection, self.seed, self.check, self.tell = selection, seed, check, tell
        tasks = *all_tasks(), *selection.tasks
        self.rungs = {r.id: r for task in tasks for r in task.rungs}
        self.builds = Builds(judge=self)
        self.links = self.builds.links
        self.lending = Lending(seed)
        self.packages = Packages(seed, check, tell, self.links, self.heard)
        self.on_card = OnCard(seed, tell, self.links)
        self._spare: Worker | None = None

    def close(self) -> None:
        """End what was started."""
        self.lending.close()
        self.on_card.close()
        self.packages.close()
        if self._spare:
            self._spare.end()
            self._spare = None

    def heard(self, rung: Rung, results: list[CheckResult]) -> None:
        """Some answers about a rung; for those who want them early."""

    def warm_up(self) -> None:
        """Start a Python worker before it is needed: it imports torch meanwhile."""
        if self._spare is None:
            self._spare = Worker.for_python()

    # ---- one rung --------------------------------------------------------------------

    def ask(self, name: str, lower: Mapping[str, str], *, warm: bool) -> Answer:
        """Everything about one rung. `lower` names the rungs that lend a direction;
        `warm`: one more in Python follows.
        """
        rung, start = self.rungs[name], time.monotonic()
        lent = {direction: self.rungs[other] for direction, other in lower.items()}
        try:
            answer = self._rung(rung, lent, warm=warm)
        except Exception as error:
            found = (
                our_fault(of_ours(error)) if rung.file.exists() else self._gone(rung)
            )
            answer = Answer(RungResult(rung, tuple(found)))
        return replace(answer, seconds=time.monotonic() - start)

    def package(self, name: str) -> Package:
        """Build an operator of lab 05."""
        self.tell(name, "build")
        return self.packages.build(self.rungs[name])

    def is_right(self, links: Links, rung: Rung, direction: str) -> bool:
        """Whether a rung of another ladder may be linked though nobody graded it yet.
        Only a kernel has to be looked at: for C there are given objects.
        """
        kernel = rung.file.suffix == ".cu"
        return kernel and self.lending.is_right(links, rung, direction)

    def _rung(self, rung: Rung, lower: Lower, *, warm: bool) -> Answer:
        if self.check == plan.CARD:
            return Answer(self.on_card.alone(rung, lower))
        if rung.exhibit:
            from grader.engine.asking import exposing

            return Answer(exposing.exhibit(self, rung, warm=warm))
        if rung.needs:
            return Answer(self._only_on_card(rung, lower))
        if plan.kind(rung) == plan.PYTHON:
            return Answer(self._python_rung(rung, warm=warm))
        if rung.is_view:
            return Answer(self._views(rung))
        return self._compiled_rung(rung, lower)

    def asked(
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
            return self._numbers(rung, {}, operator)[0]
        return self._compiled_rung(rung, {}).result

    def _gone(self, rung: Rung) -> list[CheckResult]:
        """A file that was there when the grading began."""
        return self._failed(rung, Build({}, error=f"'{rung.shown}' {GONE}"))

    def _failed(self, rung: Rung, built: Build) -> list[CheckResult]:
        """A file without a usable library."""
        found = build_failed(built)
        return found[:1] if rung.is_view else found

    def _views(self, rung: Rung) -> RungResult:
        """A file that makes views: every function that it defines."""
        from grader.engine.asking import ask_views

        built = self.builds.whole(rung)
        if built.error or built.forbidden or built.blocked:
            return RungResult(rung, tuple(self._failed(rung, built)))
        found = ask_views.each(rung, built, self.seed, self.tell)
        return RungResult(rung, tuple(self.asked_for(found)))

    def _only_on_card(self, rung: Rung, lower: Lower) -> RungResult:
        """A rung that cusim cannot run."""
        from grader.engine.asking import inspect_cuda

        compiled = self.builds.real(rung)
        pending = self.asked_for(needs_gpu(rung, compiled.verdict))
        result = inspect_cuda.with_nvcc(RungResult(rung, tuple(pending)), compiled)
        return self.on_card.checked(result, lower)

    def _python_rung(
        self, rung: Rung, operator: Operator | None = None, *, warm: bool
    ) -> RungResult:
        """A file of lab 01; while it is asked the next worker imports torch. It may be
        asked as an `operator` that has other cases.
        """
        from grader import operators
        from grader.checks.subject import Subject
        from grader.engine.asking.inspect_cpu import HostInspection

        self.warm_up()
        worker, self._spare = self._spare, None
        if warm:
            self.warm_up()
        operator = operator or operators.get(rung.operator)
        subject = Subject(operator, source=rung.file, shown=rung.shown, warm=worker)
        try:
            with HostInspection(subject, rung, self.seed) as look:
                return RungResult(rung, tuple(self._checks(subject, rung, look)))
        finally:
            subject.close()

    def _compiled_rung(self, rung: Rung, lower: Lower) -> Answer:
        """A file in C or CUDA, and what its own kind of machine adds."""
        built = self.builds.whole(rung)
        result, libraries = self._numbers(rung, lower)
        if not libraries:
            return Answer(result)
        if any(name.startswith(LOWER) for name in built.uses):
            result = counted(self.links, result, self.seed)
        if plan.kind(rung) == plan.CUDA:
            from grader.engine.asking import inspect_cuda

            result = inspect_cuda.with_nvcc(result, self.builds.real(rung))
            result = self.on_card.checked(result, lower)
        return Answer(result, libraries)

    def _numbers(
        self, rung: Rung, lower: Lower, operator: Operator | None = None
    ) -> tuple[RungResult, Libraries]:
        """Check the directions a file defines, the other one lent by a lower rung. It
        may be asked as an `operator` that has other cases. No libraries: not built.
        """
        from grader import operators
        from grader.checks.subject import Subject

        built = self.builds.whole(rung)
        if built.error or built.forbidden or built.blocked:
            return RungResult(rung, tuple(build_failed(built))), {}
        lent = {d: r for d, r in lower.items() if d not in built.directions}
        uses = {**built.uses, **{direction: r.id for direction, r in lent.items()}}
        libraries = self.libraries(rung, lent)
        operator = operator or operators.get(rung.operator)
        subject = Subject(operator, libraries=libraries)
        subject.classes = self.classes(rung, lent)
        alone = "forward" not in {*built.directions, *uses}
        try:
            if operator.signature.saved and alone:
                found = (self._without_forward(subject),)
                return RungResult(rung, found), libraries
            with self._inspection(subject, rung, libraries) as look:
                checks = self._checks(subject, rung, look, built.directions, uses)
        finally:
            subject.close()
        return RungResult(rung, tuple(checks), uses), libraries

    def libraries(self, rung: Rung, lent: Lower) -> Libraries:
        """A rung's shared objects for both directions, by dtype."""
        others = {d: self.builds.whole(other) for d, other in lent.items()}
        return paired(self.builds.whole(rung), others)

    def classes(self, rung: Rung, lent: Lower) -> Classes:
        """How exact the results of both directions have to be."""
        called = {d: lent.get(d, rung) for d in DIRECTIONS}
        return self.lending.classes(self.links, rung.operator, called)

    def _inspection(
        self, subject: Subject, rung: Rung, libraries: Libraries
    ) -> Inspection:
        """A look at a rung in its other builds, where this machine has them."""
        from grader.engine.asking.inspect_cpu import HostInspection
        from grader.engine.asking.inspect_cuda import DeviceInspection

        lent = {dtype: dict(zip(DIRECTIONS, both)) for dtype, both in libraries.items()}
        if plan.kind(rung) == plan.CUDA:
            below = plan.is_below(rung, self.selection)
            build = self.builds.other(rung)
            words = subject, rung, self.seed
            return DeviceInspection(*words, build=build, lent=lent, below=below)
        return HostInspection(
            subject,
            rung,
            self.seed,
            sanitized=lambda: self.builds.sanitized(rung),
            in_turns=lambda: self.builds.in_turns(rung),
            lent=lent["f32"],
        )

    def _without_forward(self, subject: Subject) -> CheckResult:
        """A backward that needs what forward saves, and nothing lends a forward."""
        from grader.checks.values import gradient

        cases = subject.operator.cases(self.seed)
        if gradient.is_written(subject, cases[0], self.seed):
            return no_forward(subject.operator.name)
        return CheckResult(
            "gradient", "backward", Verdict.NOT_IMPLEMENTED, message="not written yet"
        )

    # ---- its questions ---------------------------------------------------------------

    def _checks(
        self,
        subject: Subject,
        rung: Rung,
        look: Look,
        directions: tuple[str, ...] = DIRECTIONS,
        lent: Container[str] = (),
    ) -> list[CheckResult]:
        """Forward, then gradient; within each the first failure is the last word. The
        looks at a right rung's other builds come last: they take longer.
        """
        from grader.diagnosis import explanation

        cases, forward_ok = subject.cases(self.seed), "forward" in lent
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
                return self.asked_for([*asked, same_for_backward(function[-1])])
        if "backward" in directions and self.check in (None, "gradient"):
            words = subject, rung, "backward"
            found["backward"] = self._direction(*words, forward_ok=forward_ok)
        results: list[CheckResult] = []
        for direction, asked in found.items():
            seen = direction == "forward" and not _all_pass(asked)
            whole = asked if seen else self._looked(rung, look, asked, direction, cases)
            results += whole
        return self.asked_for(explanation.after_wrong_forward(results, subject))

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
        self.heard(rung, whole[max(0, len(found) - 1) :])  # the last one has a reason
        return whole

    def asked_for(self, results: Sequence[CheckResult]) -> list[CheckResult]:
        """CHECK=gradient needs forward to run, but does not report it."""
        kept = records.PARTS.get(self.check or "")
        return [result for result in results if kept in (None, result.direction)]

    def _direction(
        self, subject: Subject, rung: Rung, direction: str, *, forward_ok: bool
    ) -> list[CheckResult]:
        """The questions that are answered by the rung's plain build."""
        from grader.engine.asking import plain_build

        words = subject, rung, direction, self.seed, self.tell
        return plain_build.ask(*words, heard=self.heard, forward_ok=forward_ok)


def _all_pass(results: Sequence[CheckResult]) -> bool:
    return all(result.verdict is Verdict.PASS for result in results)
