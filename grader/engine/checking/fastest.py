# SPDX-License-Identifier: MIT
"""Adds the time of the fastest right file to the results of a folder.

The processor's clock (race.py) and the card's clock (on_gpu.py) use it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable

from grader.checks.check_result import CheckResult
from grader.checks.speed.estimate import Speed
from grader.engine.score import RungResult
from grader.verdicts import Verdict

Fastest = Callable[[list[RungResult], str], tuple[RungResult, Speed]]


def with_times(
    results: Iterable[RungResult], directions: Iterable[str], fastest: Fastest
) -> list[RungResult]:
    """The same results, with times. `fastest` gets the right files of a direction. If
    the file that it times is wrong, it gets the other ones.
    """
    done = {result.rung.id: result for result in results}
    for direction in directions:
        left = [r for r in done.values() if r.verdict(direction) is Verdict.PASS]
        while left:
            timed, speed = fastest(left, direction)
            name, checks = timed.rung.id, timed.checks
            if not speed.verdict.ok:
                checks += (_fault(speed),)
            done[name] = dataclasses.replace(
                done[name], checks=checks, speeds=(*done[name].speeds, speed)
            )
            if speed.verdict.ok:
                break
            left = [r for r in left if r.rung.id != name]
    return list(done.values())


def _fault(speed: Speed) -> CheckResult:
    """A fault that only the stopwatch saw, as a check of the direction."""
    return CheckResult(
        "speed", speed.direction, speed.verdict, "f32", 1, 1, speed.message
    )
