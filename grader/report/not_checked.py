# SPDX-License-Identifier: MIT
"""Lists reservations about right results: missing points, and incomplete checks.

If several results share a reason, it stands once, above them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from signatures import DIRECTIONS

from grader.checks.check_names import CHECKS
from grader.engine.score import TaskResult
from grader.verdicts import Verdict

_OF = {
    "pytorch": "of PyTorch's speed",
    "multiply_add": "of this core's rate of scalar multiply-adds",
    "fma": "of this core's peak",
    "bandwidth": "of this core's bandwidth to memory",
}


MOST_LINES = 6  # for one reason, before they are told by task


class Reservation(NamedTuple):
    """One direction of a task or a rung."""

    id: str
    direction: str
    what: str
    why: str


def lines(results: Sequence[TaskResult]) -> list[str]:
    """All of them, in the order of the tasks."""
    found: dict[str, list[Reservation]] = {}
    for result in results:
        for one in (*_speed(result), *_in_part(result)):
            found.setdefault(one.why, []).append(one)
    sentences = []
    for why, group in found.items():
        if len(group) == 1 or not why:
            sentences += [f"{one.id} {one.direction}: {one.what}{why}" for one in group]
            continue
        sentences.append(why.lstrip(",: "))
        wheres: dict[tuple[str, str], list[str]] = {}
        for one in group:
            wheres.setdefault((one.id, one.what), []).append(one.direction)
        if len(wheres) > MOST_LINES:
            sentences += _by_task(group)
            continue
        for (name, what), directions in wheres.items():
            sentences.append(f"  {name} {', '.join(directions)}: {what}")
    return sentences


def _by_task(group: Sequence[Reservation]) -> Iterator[str]:
    """The same in one line for each task."""
    tasks: dict[str, list[Reservation]] = {}
    for one in group:
        tasks.setdefault("/".join(one.id.split("/")[:2]), []).append(one)
    for task, mine in tasks.items():
        files = len({one.id for one in mine})
        said = "; ".join(dict.fromkeys(one.what for one in mine))
        yield f"  {task}, {files} file{'s' * (files > 1)}: {said}"


def _speed(result: TaskResult) -> Iterator[Reservation]:
    """What is missing to full speed points, for what was timed and is not there yet."""
    for direction in DIRECTIONS:
        speed = result.speed(direction)
        if not speed or not speed.band or speed.earned >= 1:
            continue
        what, why = "speed points lost", f", {speed.message}"
        if speed.verdict is Verdict.PASS and speed.share:
            what = "no speed points"
            if not speed.message:
                what = f"{speed.share.value:.2g} {_OF[speed.of]}; speed points begin at"
                what += f" {speed.band.floor:.2g} and are full at {speed.band.full:.2g}"
                why = ""
        elif speed.verdict.pending:
            what = "speed points pending"
        yield Reservation(result.task.id, direction, what, why)


def _in_part(result: TaskResult) -> Iterator[Reservation]:
    """Checks that passed, but did not see everything."""
    for rung in result.rungs:
        for check in rung.checks:
            if check.verdict is Verdict.PASS and check.message:
                what, colon, why = check.message.partition(": ")
                name = rung.rung.id, check.direction
                words = CHECKS.get(check.name, check.name)
                if not what.startswith(words):
                    what = f"the check of {words} {what}"
                what += " (no points are lost by this)"
                yield Reservation(*name, what, f"{colon}{why}")
