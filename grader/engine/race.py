# SPDX-License-Identifier: MIT
"""Chooses which file of a ladder is timed, after all its files have been checked.

All right files of a direction are screened with a few calls. The fastest is timed
properly and earns the direction's speed points. SPEED=off leaves it out, and the points
are pending.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from signatures import DIRECTIONS

from grader.checks.not_run import of_ours
from grader.checks.speed.estimate import Estimate, Speed
from grader.course.rungs import Task
from grader.engine.answers import earlier_links
from grader.engine.checking.fastest import with_times
from grader.engine.checking.on_gpu import OnCard, why_pending
from grader.engine.score import RungResult
from grader.errors import GraderError
from grader.toolchain import gpu_probe
from grader.toolchain.linking import Links
from grader.verdicts import Verdict

if TYPE_CHECKING:  # these import torch
    from grader.checks.speed.machine import Peaks
    from grader.operators import Case, Operator

PATIENCE = 3  # noisy results of a run that are waited for; then the machine is busy


def wanted() -> bool:
    """Whether this run takes times at all."""
    return os.environ.get("SPEED", "on") != "off"


class Race:
    """The speed checks of a run; measures the machine's peaks before the first."""

    def __init__(
        self,
        seed: int,
        announce: Callable[[str, str], None],
        links: Links | None = None,
    ) -> None:
        """`announce` gets a rung's id and what is being done. `links` knows what a rung
        uses of others.
        """
        self.seed = seed
        self.links = links or earlier_links.links()
        self.on_card = OnCard(seed, announce, self.links)
        self.announce = announce
        self._peaks: Peaks | None = None
        self._patience = PATIENCE

    def peaks(self) -> Peaks:
        """This machine's peaks."""
        from grader.checks.speed.machine import Peaks, keep_memory

        if self._peaks is None:
            keep_memory()
            self._peaks = Peaks()
        return self._peaks

    def close(self) -> None:
        """End what was started to measure."""
        if self._peaks:
            self._peaks.close()

    def as_json(self) -> dict[str, Any] | None:
        """The peaks of this machine for results.json; None if nothing was timed."""
        return self._peaks.as_json() if self._peaks else None

    def will_time(self, task: Task) -> bool:
        """Whether right files of a task are run for their times here."""
        if not task.speed or not wanted():
            return False
        return task.language != "cuda" or gpu_probe.card() is not None

    def task(self, task: Task, results: list[RungResult]) -> list[RungResult]:
        """The same results, with the times of the fastest right files.

        A file that is wrong when it is timed is wrong: the next fastest takes its turn.
        """
        if task.speed and task.language == "cuda":
            if gpu_probe.card() and wanted():
                return self.on_card.timed(task, results)
            return self._waiting(task, results)
        if not task.speed or not wanted():
            return results
        guarded = partial(self._guarded, task)
        return with_times(results, task.speed.bands, guarded)

    def _waiting(self, task: Task, results: list[RungResult]) -> list[RungResult]:
        """Without a GPU there are no times: the last right file of each direction says
        so, and the points are pending.
        """

        assert task.speed
        done = list(results)
        for direction in DIRECTIONS:
            right = [
                i
                for i, result in enumerate(done)
                if result.verdict(direction) is Verdict.PASS
            ]
            if not right or not task.speed.points_of(direction):
                continue
            band = task.speed.bands.get(direction)
            waits = Speed(
                band.case if band else "",
                direction,
                Verdict.PENDING_GPU,
                "",
                message=why_pending(),
                band=band,
            )
            last = done[right[-1]]
            speeds = (*last.speeds, waits)
            done[right[-1]] = dataclasses.replace(last, speeds=speeds)
        return done

    def _guarded(
        self, task: Task, right: list[RungResult], direction: str
    ) -> tuple[RungResult, Speed]:
        """The fastest file and its time; a fault of ours costs nobody points."""
        try:
            return self._fastest(task, right, direction)
        except Exception as error:
            return right[-1], self._our_fault(task, direction, error)

    def _nothing(self, task: Task, direction: str, text: str) -> Speed:
        """Nothing that can be timed: that earns nothing."""
        assert task.speed
        band = task.speed.bands[direction]
        nothing = Estimate(0.0, 0.0, 0.0)
        return Speed(
            band.case,
            direction,
            Verdict.PASS,
            "",
            message=text,
            of=band.of,
            share=nothing,
            band=band,
        )

    def _fastest(
        self, task: Task, right: list[RungResult], direction: str
    ) -> tuple[RungResult, Speed]:
        from grader.checks.speed import speed
        from grader.engine.checking.runnable import to_time

        assert task.speed
        band = task.speed.bands[direction]
        peaks = self.peaks()
        first = right[0]
        made = {r.rung.id: to_time(r.rung, self.links) for r in right}
        right = [r for r in right if made[r.rung.id]]
        subjects = [subject for subject in made.values() if subject]
        if not subjects:
            text = (
                "no right file of this ladder computes forward, but backward needs a "
                "forward"
            )
            return first, self._nothing(task, direction, text)
        try:
            case = _case(task, subjects[0].operator, band.case)
            times = [0.0]
            if len(right) > 1 or right[0].rung.covers:
                times = [
                    speed.screen(subject, case, direction, self.seed)
                    for subject in subjects
                ]
            best = times.index(min(times))
            if math.isinf(times[best]) and all(subject.left for subject in subjects):
                text = f"no right file of this ladder covers case {band.case}"
                return right[best], self._nothing(task, direction, text)
            self.announce(right[best].rung.id, f"speed {direction}")
            timed = speed.check(
                subjects[best],
                case,
                direction,
                band,
                self.seed,
                peaks,
                tries=speed.TRIES if self._patience > 0 else 1,
            )
            self._patience -= timed.verdict is Verdict.NOISY
        finally:
            for subject in subjects:
                subject.close()
        return right[best], timed

    def _our_fault(self, task: Task, direction: str, error: Exception) -> Speed:
        """The stopwatch itself failed: the points are pending."""

        assert task.speed
        band = task.speed.bands[direction]
        text = of_ours(error)
        return Speed(band.case, direction, Verdict.GRADER, "", message=text, band=band)


def _case(task: Task, operator: Operator, name: str) -> Case:
    """A speed case by its name. Raises GraderError if there is none."""
    cases = operator.speed_cases()
    if name not in cases:
        raise GraderError(
            f"labs/{task.lab}/lab.toml: 'ladder.{task.operator}' names the speed case "
            f"{name!r}, but the speed cases of {operator.name}.toml are: "
            f"{', '.join(cases) or 'none'}"
        )
    return cases[name]
