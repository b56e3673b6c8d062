# SPDX-License-Identifier: MIT
"""Runs the checks of the chosen tasks in order: build, forward, gradient.

One rung after the other, lower ones first, so that a rung that defines one direction
can take the other from the nearest lower rung that is right.
"""

from __future__ import annotations

import gc
import secrets
from collections.abc import Callable, Container
from dataclasses import replace
from functools import partial
from pathlib import Path
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
from grader.course.architectures import HALF
from grader.course.candidates import ordered
from grader.course.rungs import COMPILED, EXTENSION, Rung, Selection, Task
from grader.course.uses import FALLBACK
from grader.engine.build_queue import Builds
from grader.engine.grade_extension import Packages
from grader.engine.lending import Lending, Lower, counted, paired
from grader.engine.progress import Progress
from grader.engine.race import Race
from grader.engine.score import RungResult, TaskResult
from grader.errors import GraderError
from grader.runner.supervisor.session import Worker, pin
from grader.toolchain.products import Build
from grader.verdicts import Verdict

if TYPE_CHECKING:  # these import torch, which takes seconds
    from grader.checks.subject import Subject
    from grader.engine.inspect_cpu import Inspection
    from grader.engine.inspect_cuda import DeviceInspection
    from grader.operators import Case

MODULE_CASES = 6  # lab 01: cases that also go through the nn.Module

# what happens after the checks of a direction: inspect_cpu.py
Look = Callable[[list[CheckResult], str, "list[Case]"], list[CheckResult]]


def new_seed() -> int:
    """A seed nobody knows before the run; printed, so that it can be repeated."""
    return secrets.randbelow(1_000_000)


class Grader:
    """Grades a selection; `close` ends every worker, also after an interruption."""

    def __init__(
        self,
        selection: Selection,
        *,
        seed: int,
        check: str | None = None,
        progress: Callable[[Progress], None] = lambda _: None,
    ) -> None:
        self.selection = selection
        self.seed = seed
        self.check = check  # forward, gradient: only these
        self.progress = progress
        self.done = 0
        self.total = len(selection.rungs)
        self._python_left = sum(
            rung.id in selection.rungs
            for task in selection.tasks
            if task.language == "python"
            for rung in task.rungs
        )
        self._spare: Worker | None = None
        self.builds = Builds(selection)
        self.links = self.builds.links
        self.race = Race(seed, lambda rung, check: self._say(rung, check), self.links)
        self.lending = Lending(self.builds, seed)
        self.links.verify = self._serves
        self.packages = Packages(seed, check, self._tell, self.links)

    def warm_up(self) -> None:
        """Start the next Python worker early: it imports torch while others work."""
        if self._python_left > 0 and self._spare is None:
            self._spare = Worker.for_python()
            self._python_left -= 1

    def run(self) -> list[TaskResult]:
        """Grade everything that was selected."""
        self.builds.ahead()  # compiled while this process imports
        gc.disable()  # nearly all that importing makes is there to stay
        import torch  # after the first worker was started
        import torch.fx.experimental.symbolic_shapes  # autograd would, at its first use

        gc.freeze()
        gc.enable()
        torch.set_num_threads(1)
        pin()
        found = {task.id: self._task(task) for task in ordered(self.selection.tasks)}
        return [self._timed(found[task.id]) for task in self.selection.tasks]

    def _timed(self, result: TaskResult) -> TaskResult:
        """Right files get their times at the very end, when nothing else runs here."""
        if self.check:
            return result
        rungs = self.race.task(result.task, list(result.rungs))
        return replace(result, rungs=tuple(rungs))

    def close(self) -> None:
        """End the spare worker and what is still to be built."""
        self.builds.close()
        self.race.close()
        self.lending.close()
        if self._spare:
            self._spare.end()
            self._spare = None

    def __enter__(self) -> Grader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _serves(self, rung: Rung, direction: str) -> bool:
        """Whether a rung of another ladder may be linked though nobody graded it yet.
        Only a kernel has to be looked at: for C there are given objects.
        """
        if rung.file.suffix != ".cu":
            return False
        return self.lending.is_right(rung, self.builds.whole(rung), direction)

    # ---- one task --------------------------------------------------------------------

    def _task(self, task: Task) -> TaskResult:
        """Rungs from the lowest up; those not asked for only lend a direction."""
        results: list[RungResult] = []
        lower: Lower = {}  # direction -> nearest right rung
        for rung in task.rungs:
            if rung.id not in self.selection.rungs:
                if task.language in COMPILED:
                    self.lending.lend(rung, lower)
                continue
            self._tell(rung, "build")
            results.append(self._guarded(task, rung, lower))
            self.done += 1
        found = TaskResult(task, tuple(results), self._asked(task, results))
        self.progress(Progress(task.id, "", self.done, self.total, ended=found))
        return found

    def _guarded(self, task: Task, rung: Rung, lower: Lower) -> RungResult:
        """A fault of the grader itself costs nobody points, and no other rung."""
        try:
            return self._rung(task, rung, lower)
        except (GraderError, OSError):
            raise  # of the machine: they end the command with a sentence
        except Exception as error:
            return RungResult(rung, tuple(our_fault(of_ours(error))))

    def _asked(self, task: Task, results: list[RungResult]) -> tuple[str, ...]:
        """The directions this run was to check; of single rungs, what they define."""
        if self.check:
            return ("forward",) if self.check == "forward" else ("backward",)
        if len(results) == len(task.rungs):
            return DIRECTIONS
        seen = [d for d in DIRECTIONS if any(r.verdict(d) for r in results)]
        return tuple(seen) or DIRECTIONS

    def _tell(self, rung: Rung, check: str) -> None:
        self._say(rung.id, check)

    def _say(self, rung: str, check: str) -> None:
        self.progress(Progress(rung, check, self.done, self.total))

    def _rung(self, task: Task, rung: Rung, lower: Lower) -> RungResult:
        from grader import operators
        from grader.checks.subject import Subject
        from grader.engine import inspect_cuda
        from grader.engine.inspect_cpu import Inspection

        if rung.needs:
            compiled = self.builds.real(rung)
            pending = self._asked_for(needs_gpu(rung, compiled.verdict))
            result = inspect_cuda.with_nvcc(RungResult(rung, tuple(pending)), compiled)
            return self.race.on_card.checked(result, lower, None)
        if task.language == EXTENSION:
            return self.packages.checked(rung)
        operator = operators.get(task.operator)
        if task.language == "python":
            self.warm_up()
            warm, self._spare = self._spare, None
            self.warm_up()
            subject = Subject(operator, source=rung.file, shown=rung.shown, warm=warm)
            try:
                with Inspection(subject, rung, self.seed) as look:
                    return RungResult(rung, tuple(self._checks(subject, rung, look)))
            finally:
                subject.close()
        built = self.builds.whole(rung)
        if built.error or built.forbidden or built.blocked:
            return RungResult(rung, tuple(build_failed(built)))
        uses = dict(built.uses)
        result = self._c_rung(rung, built, lower, uses)
        if any(name.startswith(FALLBACK) for name in built.uses):
            result = counted(self.links, result, self.seed)
        for direction in built.directions:
            self.links.found(rung, direction, result.verdict(direction))
            if result.verdict(direction) is Verdict.PASS:
                lower[direction] = (rung, built)
        if rung.file.suffix == ".cu":
            result = inspect_cuda.with_nvcc(result, self.builds.real(rung))
            classes = self.race.classes.get(rung.id)
            return self.race.on_card.checked(result, lower, classes)
        return result

    def _c_rung(
        self,
        rung: Rung,
        built: Build,
        lower: Lower,
        uses: dict[str, str],
    ) -> RungResult:
        """Check the directions a C file defines, the other one lent by a lower rung."""
        from grader import operators
        from grader.checks.subject import Subject

        lent = {d: lower[d] for d in lower if d not in built.directions}
        uses |= {direction: other.id for direction, (other, _) in lent.items()}
        libraries = paired(built, {d: build for d, (_, build) in lent.items()})
        operator = operators.get(rung.task.split("/")[1])
        subject = Subject(operator, libraries=libraries)
        called = {d: lent[d][0] if d in lent else rung for d in DIRECTIONS}
        classes = self.lending.classes(rung.task, called)
        subject.classes = self.race.classes[rung.id] = classes
        self.race.libraries[rung.id] = libraries
        alone = "forward" not in {*built.directions, *uses}
        try:
            if operator.signature.saved and alone:
                return RungResult(rung, (self._without_forward(subject),))
            with self._inspection(subject, rung, libraries["f32"]) as look:
                checks = self._checks(subject, rung, look, built.directions, uses)
        finally:
            subject.close()
        return RungResult(rung, tuple(checks), uses)

    def _inspection(
        self, subject: Subject, rung: Rung, libraries: tuple[Path, Path]
    ) -> Inspection | DeviceInspection:
        """A look at a rung in its other builds, where this machine has them."""
        from grader.engine.inspect_cpu import Inspection
        from grader.engine.inspect_cuda import DeviceInspection, is_below

        lent = dict(zip(DIRECTIONS, libraries))
        if rung.file.suffix == ".cu":
            builds = self.builds.other(rung)
            below = is_below(rung, self.selection)
            return DeviceInspection(
                subject, rung, self.seed, build=builds, lent=lent, below=below
            )
        return Inspection(
            subject,
            rung,
            self.seed,
            sanitized=lambda: self.builds.sanitized(rung),
            lent=lent,
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

    # ---- one rung --------------------------------------------------------------------

    def _checks(
        self,
        subject: Subject,
        rung: Rung,
        look: Look,
        directions: tuple[str, ...] = DIRECTIONS,
        lent: Container[str] = (),
    ) -> list[CheckResult]:
        """Forward, then gradient; within each the first failure is the last word."""
        results: list[CheckResult] = []
        forward_ok = "forward" in lent
        if "forward" in directions:
            cases = subject.operator.cases(self.seed)
            results += look(self._forward(subject, rung), "forward", cases)
            forward_ok = all(r.verdict is Verdict.PASS for r in results)
            if subject.python and results[-1].verdict in HOPELESS:
                results.append(same_for_backward(results[-1]))
                return self._asked_for(results)
        if "backward" in directions and self.check in (None, "gradient"):
            cases = subject.operator.cases(self.seed)
            found = self._gradient(subject, rung, with_gradcheck=forward_ok)
            results += look(found, "backward", cases)
        return self._asked_for(results)

    def _asked_for(self, results: list[CheckResult]) -> list[CheckResult]:
        """CHECK=gradient needs forward to run, but does not report it."""
        wanted = {None: DIRECTIONS, "forward": ("forward",)}
        kept = wanted.get(self.check, ("backward",))
        return [result for result in results if result.direction in kept]

    def _forward(self, subject: Subject, rung: Rung) -> list[CheckResult]:
        from grader.checks.values import each_dtype, forward

        cases = subject.operator.cases(self.seed)
        tell = partial(self._tell, rung)
        results = each_dtype.check(subject, cases, "forward", self.seed, tell)
        if results[-1].verdict is not Verdict.PASS:
            return results
        results.append(self._own_rules(subject, cases, "forward"))
        if results[-1].verdict is not Verdict.PASS:
            return results
        results += self._half(subject, forward.check)
        if subject.python:
            self._tell(rung, "module")
            few = cases[:MODULE_CASES]
            results.append(
                forward.check(subject, few, "f64", self.seed, through_module=True)
            )
        return results

    def _half(
        self, subject: Subject, check: Callable[..., CheckResult]
    ) -> list[CheckResult]:
        """Numbers that half can hold, where the ladder says that it is right in it."""
        if HALF not in subject.libraries:
            return []
        cases = subject.operator.cases(self.seed)
        few = [case for case in cases if case.values == "normal"]
        found = check(subject, few, HALF, self.seed)
        return [replace(found, name="half", replay=None)]  # make debug has no f16

    def _own_rules(
        self, subject: Subject, cases: list[Case], direction: str
    ) -> CheckResult:
        """What only lab 01, or only C, has to keep to."""
        from grader.checks.memory import no_scratch
        from grader.checks.values import audit

        check = audit.check if subject.python else no_scratch.check
        return check(subject, cases, direction, self.seed)

    def _gradient(
        self, subject: Subject, rung: Rung, *, with_gradcheck: bool
    ) -> list[CheckResult]:
        from grader.checks.values import each_dtype, gradient

        cases = subject.operator.cases(self.seed)
        tell = partial(self._tell, rung)
        results = each_dtype.check(subject, cases, "backward", self.seed, tell)
        if results[-1].verdict is not Verdict.PASS:
            return results
        results.append(self._own_rules(subject, cases, "backward"))
        if results[-1].verdict is not Verdict.PASS:
            return results
        results += self._half(subject, gradient.check)
        if results[-1].verdict is not Verdict.PASS:
            return results
        if with_gradcheck:
            self._tell(rung, "gradcheck")
            results.append(gradient.gradcheck(subject, cases, self.seed))
        return results
