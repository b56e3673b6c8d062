# SPDX-License-Identifier: MIT
"""Grades an operator of lab 05: builds its package, checks its numbers and its
contract.

Values and gradients use the checks of the other labs, with a Python worker that has
loaded the package. The gates (contract.py) run at the same time in another process.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from signatures import DIRECTIONS

from grader.checks.check_result import CheckResult
from grader.checks.not_run import HOPELESS, build_failed, same_for_backward
from grader.course.rungs import DIRECT, Rung
from grader.course.tasks import all_tasks
from grader.diagnosis import extension_line
from grader.engine.score import RungResult
from grader.runner.supervisor.session import Worker
from grader.runner.supervisor.tools_session import folder_for
from grader.toolchain import sandbox
from grader.toolchain.extension import kernels, package
from grader.toolchain.extension.package import Package
from grader.toolchain.linking import Links
from grader.toolchain.products import Build
from grader.verdicts import Verdict

if TYPE_CHECKING:  # imports torch
    from grader.operators import Operator

SHOWN = "labs/05_torch_extension"


class Packages:
    """The operators of lab 05 in one grading."""

    def __init__(
        self,
        seed: int,
        check: str | None,
        announce: Callable[[str, str], None],
        found: Links,
        on_results: Callable[[Rung, list[CheckResult]], None] = lambda *_: None,
    ) -> None:
        """`found` is what this grading knows of other labs' rungs. `on_results` gets
        each answer as it comes.
        """
        self.seed, self.check, self.announce, self.found = seed, check, announce, found
        self._on_results = on_results
        self._waiting: dict[Path, Worker] = {}  # for a package that is being built

    def close(self) -> None:
        """End what was started and not used."""
        while self._waiting:
            self._waiting.popitem()[1].end()

    def warm_up(self, rung: Rung) -> None:
        """Start the worker that will load an operator's package: it imports torch
        while the package is built.
        """
        folder = package.folder_of(rung) / "package"
        if folder not in self._waiting:
            folder.mkdir(parents=True, exist_ok=True)
            self._waiting[folder] = Worker.for_python(folder)

    def checked(self, rung: Rung, operator: Operator | None = None) -> RungResult:
        """Build a step of an operator, or an exhibit, and find out all about it,
        perhaps on other cases than its own.
        """
        built = self.build(rung)
        if built.folder is None:
            return self.joined(rung, built, [], {})
        values = self.values(rung, built, operator)
        right = any(c.verdict is Verdict.PASS for c in _last(values).values())
        gates = self.gates(rung, built, operator) if right else {}
        return self.joined(rung, built, values, gates)

    def build(self, rung: Rung) -> Package:
        """Build it, with its kernels."""
        return package.build(rung, kernels.links(self.found))

    def joined(
        self,
        rung: Rung,
        built: Package,
        values: list[CheckResult],
        gates: Mapping[str, list[CheckResult]],
    ) -> RungResult:
        """The result. The gates count for a direction whose numbers are right."""
        uses = {f"{d} on the CPU": kernel for d, kernel in built.served.items()}
        if built.folder is None:
            return RungResult(rung, tuple(self._only_wanted(_not_built(built))), uses)
        found = []
        last = _last(values)
        for direction in DIRECTIONS:
            found += [check for check in values if check.direction == direction]
            if direction in last and last[direction].verdict is Verdict.PASS:
                found += gates.get(direction, [])
        told = [_told(one, rung) for one in self._only_wanted(found)]
        return RungResult(rung, tuple(told), uses)

    def gates(
        self, rung: Rung, built: Package, operator: Operator | None = None
    ) -> dict[str, list[CheckResult]]:
        """What the gates say, by direction; of an exhibit those that lab.toml names."""
        from grader import operators
        from grader.checks.gates.contract import GATES, LOADING, ON_CARD, Contract

        assert built.folder
        self.announce(rung.id, LOADING)
        operator = operator or operators.get(rung.operator)
        folder = folder_for(rung.step, operator.name)
        gates = (*GATES, *(ON_CARD if built.on_card else ()))
        if rung.exhibit:
            folder = folder_for(rung.task.split("/")[1], rung.file.stem)
            gates = tuple(g for g in GATES if g.id in rung.exhibit.gates)
        small = [case for case in operator.cases(self.seed) if case.gradcheck]
        if not gates or not small:  # they are asked of small cases
            return {}
        asked = [g for g in gates if self.check is None or self._is_asked(g.direction)]
        if os.environ.get(sandbox.STRANGER) and (why := sandbox.too_weak()):
            waits = [
                CheckResult(g.name, g.direction, Verdict.SKIPPED, message=why)
                for g in asked
            ]
            return {d: [w for w in waits if w.direction == d] for d in DIRECTIONS}
        contract = Contract(operator, built.folder, folder, self.seed, gates=asked)
        contract.start()
        try:
            for words in contract.steps():
                self.announce(rung.id, words)
            return {d: contract.results(d) for d in DIRECTIONS}
        finally:
            contract.stop()

    def values(
        self, rung: Rung, built: Package, operator: Operator | None = None
    ) -> list[CheckResult]:
        """Forward, then gradient; within each the first failure is the last word."""
        from grader import operators
        from grader.checks.subject import Subject
        from grader.engine.checking import number_checks

        assert built.folder
        operator = operator or operators.get(rung.operator)
        warm = self._waiting.pop(built.folder, None) or Worker.for_python(built.folder)
        subject = Subject(operator, package=built.folder, shown=SHOWN, warm=warm)
        if loosest := _loosest(built):
            subject.numerics = loosest.numerics
            subject.numerics_for = loosest.numerics_for
        try:
            announce = self.seed, self.announce
            ask = partial(number_checks.check, on_results=self._pass_on)
            forward = ask(subject, rung, "forward", *announce, forward_ok=True)
            if forward[-1].verdict in HOPELESS:
                return [*forward, same_for_backward(forward[-1])]
            if not self._is_asked("backward"):
                return forward
            right = forward[-1].verdict is Verdict.PASS
            words = subject, rung, "backward", *announce
            return forward + ask(*words, forward_ok=right)
        finally:
            subject.close()

    def _pass_on(self, rung: Rung, new: list[CheckResult]) -> None:
        """Pass answers on as the result will have them."""
        found = self._only_wanted(new)
        self._on_results(rung, [_told(one, rung) for one in found])

    def _only_wanted(self, results: list[CheckResult]) -> list[CheckResult]:
        """CHECK=gradient needs forward to run, but does not report it."""
        asked = [result for result in results if self._is_asked(result.direction)]
        return [replace(result, replay=None) for result in asked]  # no make debug here

    def _is_asked(self, direction: str) -> bool:
        wanted = {None: DIRECTIONS, "forward": ("forward",)}
        return direction in wanted.get(self.check, ("backward",))


def _last(values: list[CheckResult]) -> dict[str, CheckResult]:
    """The last word on each direction."""
    return {check.direction: check for check in values}


def _loosest(built: Package) -> Rung | None:
    """Of the rungs behind an operator the one that decides how exact it has to be."""
    rungs = {rung.id: rung for task in all_tasks() for rung in task.rungs}
    found = [rungs[name] for name in built.served.values() if name in rungs]
    classed = [rung for rung in found if rung.numerics != DIRECT]
    return min(classed, key=lambda rung: len(rung.numerics_for), default=None)


def _not_built(built: Package) -> list[CheckResult]:
    """Both directions fail with one reason."""
    return build_failed(
        Build(
            {},
            error=built.error,
            forbidden=built.forbidden,
            blocked=built.blocked,
            location=built.location,
        )
    )


def _told(result: CheckResult, rung: Rung) -> CheckResult:
    """A result with its mistake's name and its line, if its message tells them."""
    if result.verdict is not Verdict.PASS and not rung.exhibit:
        from grader import operators  # imports torch
        from grader.checks.gates import told_names

        result = told_names.with_name(result, operators.get(rung.operator))
    return extension_line.placed(result, rung)
