# SPDX-License-Identifier: MIT
"""Lab 05: an operator's package is built, its numbers and its contract checked.

Values and gradients are the checks of the other labs, over the Python worker that has
loaded the package. The gates (contract.py) run beside them in a process of their
own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from signatures import DIRECTIONS

from grader.checks.check_result import CheckResult
from grader.checks.unrun import HOPELESS, build_failed, same_for_backward
from grader.course.rungs import Rung
from grader.course.tasks import all_tasks
from grader.diagnosis import extension_line
from grader.engine.score import RungResult
from grader.runner.supervisor.session import Worker
from grader.runner.supervisor.tools_session import folder_for
from grader.toolchain.extension import kernels, package
from grader.toolchain.extension.package import Package
from grader.toolchain.linking import Links
from grader.toolchain.products import Build
from grader.verdicts import Verdict

if TYPE_CHECKING:  # imports torch
    from grader.checks.gates.contract import Contract
    from grader.checks.subject import Subject

SHOWN = "labs/05_torch_extension"
MODULE_CASES = 6  # cases that also go through the nn.Module
WITH_MODULE = ("conv2d", "linear")


class Packages:
    """The operators of lab 05 in one grading."""

    def __init__(
        self,
        seed: int,
        check: str | None,
        tell: Callable[[Rung, str], None],
        found: Links,
    ) -> None:
        """`found` is what this grading knows of other labs' rungs."""
        self.seed, self.check, self.tell, self.found = seed, check, tell, found

    def checked(self, rung: Rung) -> RungResult:
        """Build a step of an operator and find out all about it."""
        from grader import operators
        from grader.checks.gates.contract import GATES, ON_CARD, Contract
        from grader.checks.subject import Subject
        from grader.checks.values.fallback import Classes, Servers

        links = kernels.links(self.found)
        built = package.build(rung, links)
        uses = {f"{d} on the CPU": kernel for d, kernel in built.served.items()}
        if built.folder is None:
            return RungResult(rung, tuple(self._asked_for(_not_built(built))), uses)
        operator = operators.get(rung.task.split("/")[1])
        warm = Worker.for_python(built.folder)
        subject = Subject(operator, package=built.folder, shown=SHOWN, warm=warm)
        servers = Servers(links, operator, self.seed)
        subject.classes = Classes(servers, _called(built))
        folder = folder_for(rung.step, operator.name)
        gates = (*GATES, *(ON_CARD if built.on_card else ()))
        asked = [g for g in gates if self.check is None or self._is_asked(g.direction)]
        contract = Contract(operator, built.folder, folder, self.seed, gates=asked)
        contract.start()  # on another core, while values are checked here
        try:
            found = self._values(subject, rung, contract)
        finally:
            contract.stop()
            servers.close()
            subject.close()
        told = [extension_line.placed(one, rung) for one in self._asked_for(found)]
        return RungResult(rung, tuple(told), uses)

    def _asked_for(self, results: list[CheckResult]) -> list[CheckResult]:
        """CHECK=gradient needs forward to run, but does not report it."""
        asked = [result for result in results if self._is_asked(result.direction)]
        return [replace(result, replay=None) for result in asked]  # no make debug here

    def _is_asked(self, direction: str) -> bool:
        wanted = {None: DIRECTIONS, "forward": ("forward",)}
        return direction in wanted.get(self.check, ("backward",))

    # ---- values ----------------------------------------------------------------------

    def _values(
        self, subject: Subject, rung: Rung, contract: Contract
    ) -> list[CheckResult]:
        """Forward, then gradient; within each the first failure is the last word. The
        gates count for a direction whose numbers are right.
        """
        forward = self._forward(subject, rung)
        if forward[-1].verdict in HOPELESS:
            return [*forward, same_for_backward(forward[-1])]
        right = forward[-1].verdict is Verdict.PASS
        backward = []
        if self._is_asked("backward"):
            backward = self._gradient(subject, rung, with_gradcheck=right)
        for direction, results in zip(DIRECTIONS, (forward, backward)):
            if results and results[-1].verdict is Verdict.PASS:
                self.tell(rung, "gates")
                results += contract.results(direction)
        return forward + backward

    def _forward(self, subject: Subject, rung: Rung) -> list[CheckResult]:
        from grader.checks.values import each_dtype, forward

        cases, tell = subject.operator.cases(self.seed), partial(self.tell, rung)
        results = each_dtype.check(subject, cases, "forward", self.seed, tell)
        if results[-1].verdict is not Verdict.PASS:
            return results
        if subject.operator.name in WITH_MODULE:
            self.tell(rung, "module")
            few = cases[:MODULE_CASES]
            results.append(
                forward.check(subject, few, "f64", self.seed, through_module=True)
            )
        return results

    def _gradient(
        self, subject: Subject, rung: Rung, *, with_gradcheck: bool
    ) -> list[CheckResult]:
        from grader.checks.values import audit, each_dtype, gradient

        cases, tell = subject.operator.cases(self.seed), partial(self.tell, rung)
        results = each_dtype.check(subject, cases, "backward", self.seed, tell)
        if results[-1].verdict is not Verdict.PASS:
            return results
        results.append(audit.check(subject, cases, "backward", self.seed))
        if with_gradcheck and results[-1].verdict is Verdict.PASS:
            self.tell(rung, "gradcheck")
            results.append(gradient.gradcheck(subject, cases, self.seed))
        return results


def _called(built: Package) -> dict[str, Rung]:
    """The rungs behind an operator by direction: they say how exact it has to be."""
    known = {rung.id: rung for task in all_tasks() for rung in task.rungs}
    return {d: known[name] for d, name in built.served.items() if name in known}


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
