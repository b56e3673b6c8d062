# SPDX-License-Identifier: MIT
"""Checks and times the rungs of lab 04 on a GPU, if the machine has one.

The results of cusim and nvcc stay. If a direction has passed so far, it is built for
the card and checked there. If `compute-sanitizer` is installed, it checks the direction
too. At the end the fastest right file of each direction is timed against PyTorch on the
same card.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from signatures import DIRECTIONS

from grader.checks.check_result import CheckResult
from grader.checks.not_run import of_ours
from grader.checks.speed.estimate import Speed
from grader.course.rungs import Rung, Task
from grader.engine.checking.fastest import with_times
from grader.engine.checking.runnable import of_build, to_time
from grader.engine.score import RungResult
from grader.errors import GraderError
from grader.toolchain import gpu_build, gpu_probe
from grader.toolchain.linking import Links
from grader.toolchain.products import GPU, Build
from grader.verdicts import Verdict

if TYPE_CHECKING:  # these import torch
    from grader.checks.speed.gpu_speed import EventClock
    from grader.operators import Case, Operator

Tell = Callable[[str, str], None]
WAITS = "speed is measured only on a GPU, so these points are pending"
NO_BAND = "; lab.toml has no speed band for it yet, so the points are pending"


def why_pending() -> str:
    """Why points for speed are pending here."""
    reason = gpu_probe.absent()
    return WAITS + (f" ({reason})" if reason and reason != gpu_probe.NONE else "")


class OnCard:
    """The rungs of a run on the card. Starts nothing where there is none."""

    def __init__(self, seed: int, announce: Tell, links: Links) -> None:
        self.seed, self.announce, self.links = seed, announce, links
        self._clock: EventClock | None = None

    def clock(self) -> EventClock:
        """Events of PyTorch, made once: they need a context of this process."""
        from grader.checks.speed.gpu_speed import EventClock

        card = gpu_probe.card()
        assert card
        self._clock = self._clock or EventClock(card)
        return self._clock

    # ---- values ----------------------------------------------------------------------

    def checked(self, result: RungResult) -> RungResult:
        """The result with what the card adds; a fault of ours costs nothing."""
        rung = result.rung
        directions = [d for d in DIRECTIONS if self._asked(result, d)]
        if gpu_probe.card() is None or not directions:
            return result
        try:
            more = self._checks(rung, directions)
        except Exception as error:
            more = [
                CheckResult("gpu forward", d, Verdict.GRADER, message=of_ours(error))
                for d in directions
            ]
        waited = {c.direction for c in more}  # what no card had looked at, this one has
        kept = [
            check
            for check in result.checks
            if not (check.verdict is Verdict.PENDING_GPU and check.direction in waited)
        ]
        return dataclasses.replace(result, checks=(*kept, *more))

    def alone(self, rung: Rung) -> RungResult:
        """What the card says of a rung that cusim and nvcc have not judged."""
        built = (
            Build({}) if gpu_build.lacking(rung) else self.links.build(rung, mode=GPU)
        )
        defined = built.directions or DIRECTIONS
        waiting = [
            CheckResult(f"gpu {name}", d, Verdict.PENDING_GPU, message=why_pending())
            for name, d in zip(("forward", "gradient"), DIRECTIONS)
            if d in defined
        ]
        return self.checked(RungResult(rung, tuple(waiting)))

    def _asked(self, result: RungResult, direction: str) -> bool:
        """Right so far; or nobody has looked, because cusim cannot."""
        return result.verdict(direction) in (Verdict.PASS, Verdict.PENDING_GPU)

    def _checks(self, rung: Rung, directions: list[str]) -> list[CheckResult]:
        from grader.checks.cuda import compute_sanitizer, values_on_gpu

        if lacking := gpu_build.lacking(rung):
            no = Verdict.PENDING_GPU
            return [
                CheckResult("gpu build", d, no, message=lacking) for d in directions
            ]
        gpu_probe.build_tools()
        self.announce(rung.id, "gpu build")
        built = self.links.build(rung, mode=GPU)
        if not built.libraries:
            text = built.forbidden or built.blocked or built.error
            verdict = Verdict.BLOCKED if built.blocked else Verdict.BUILD
            at = built.location
            return [
                CheckResult("gpu build", d, verdict, message=text, location=at)
                for d in directions
            ]
        subject = of_build(rung, built)
        results: list[CheckResult] = []
        try:
            for direction in [d for d in directions if d in built.directions]:
                cases = subject.operator.cases(self.seed)
                say = lambda words: self.announce(rung.id, words)  # noqa: E731
                found = values_on_gpu.check(subject, cases, direction, self.seed, say)
                results += found
                if found[-1].verdict is Verdict.PASS:
                    look = compute_sanitizer.check(
                        subject, cases, direction, self.seed, say
                    )
                    results += look
        finally:
            subject.close()
        return results

    # ---- times -----------------------------------------------------------------------

    def timed(self, task: Task, results: list[RungResult]) -> list[RungResult]:
        """The same results, the fastest right file of each direction with its time."""
        assert task.speed
        paid = [d for d in DIRECTIONS if task.speed.points_of(d)]
        return with_times(results, paid, partial(self._guarded, task))

    def _guarded(
        self, task: Task, right: list[RungResult], direction: str
    ) -> tuple[RungResult, Speed]:
        """A fault of the stopwatch itself costs nobody points."""
        try:
            return self._fastest(task, right, direction)
        except Exception as error:
            text = of_ours(error)
            no = Verdict.GRADER
            return right[-1], Speed("", direction, no, "", message=text)

    def _fastest(
        self, task: Task, right: list[RungResult], direction: str
    ) -> tuple[RungResult, Speed]:
        from grader.checks.speed import gpu_speed

        assert task.speed
        band = task.speed.bands.get(direction)
        made = {r.rung.id: to_time(r.rung, self.links, mode=GPU) for r in right}
        right = [r for r in right if made[r.rung.id]] or right
        subjects = [subject for subject in made.values() if subject]
        card = gpu_probe.measured()
        assert card
        try:
            case = timed_case(subjects[0].operator, band.case if band else "")
            times = [
                gpu_speed.screen(subject, case, direction, self.seed)
                for subject in subjects
            ]
            best = times.index(min(times))
            self.announce(right[best].rung.id, f"gpu speed {direction}")
            words = (subjects[best], case, direction, band, self.seed, card)
            found = gpu_speed.check(*words, self.clock())
        finally:
            for subject in subjects:
                subject.close()
        return right[best], found if band else waiting(found, card)


def waiting(found: Speed, card: gpu_probe.Gpu) -> Speed:
    """A time that no band turns into points is shown, and the points are pending."""
    if found.verdict is not Verdict.PASS or not found.ratio:
        return found
    ratio = found.ratio
    text = (
        f"{found.ms:.3g} ms on {card.name}, {ratio.value:.3g} of "
        f"{found.baseline} ({ratio.low:.3g} .. {ratio.high:.3g}){NO_BAND}"
    )
    return dataclasses.replace(found, verdict=Verdict.PENDING_GPU, message=text)


def timed_case(operator: Operator, name: str) -> Case:
    """The case that a band names; else the largest, which fills a card best."""
    cases = operator.speed_cases()
    if name in cases:
        return cases[name]
    if name or not cases:
        raise GraderError(
            f"{operator.name} has no speed case {name!r}, only {', '.join(cases)}"
        )
    return max(cases.values(), key=operator.elements)
