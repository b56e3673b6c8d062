# SPDX-License-Identifier: MIT
"""Finds the students of each hand-in, and the attempt that is graded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from grader.batch.downloads.download import Attempt, Download, HandIn, Marks
from grader.batch.roster import Roster
from grader.course.foreign import one_line
from grader.course.offered.course_file import BEFORE_DEADLINE, BEST
from grader.errors import GraderError

TOGETHER = "+"  # between the names of a team in the name of an archive
NUMBERS = ("moodle_id", "canvas_id", "id", "email", "github")


@dataclass(frozen=True)
class Work:
    """A hand-in, and whose it is: of a team, everybody's."""

    students: tuple[str, ...]
    hand_in: HandIn


def works(download: Download, roster: Roster) -> list[Work]:
    """Whose the hand-ins are. Each student has one, or a sentence why not."""
    alone = Counter(_name(m) for one in download.hand_ins for m in one.submitters)
    found: dict[tuple[str, ...], list[HandIn]] = {}
    for one in download.hand_ins:
        students: dict[str, None] = {}
        for marks in one.submitters:
            try:
                mine = roster.found(marks) or _together(marks, roster)
            except GraderError as error:
                mine, one = (), replace(one, why=str(error))
            students |= dict.fromkeys(mine or [_own_name(marks, alone)])
        found.setdefault(tuple(students), []).append(one)
    counts = Counter(student for students in found for student in students)
    return [
        Work(students, _one(hand_ins, shared=any(counts[s] > 1 for s in students)))
        for students, hand_ins in found.items()
    ]


def _name(marks: Marks) -> str:
    return marks.get("name") or next(iter(marks.values()), "nobody")


def _own_name(marks: Marks, alone: Mapping[str, int]) -> str:
    """A student's name as the platform has it; with a number, if two have the same."""
    name = _name(marks)
    number = next((marks[one] for one in NUMBERS if marks.get(one)), "")
    return (
        f"{name} ({number})" if alone[name] > 1 and number not in ("", name) else name
    )


def _together(marks: Marks, roster: Roster) -> tuple[str, ...]:
    """The students of alice+bob, if each is on the list."""
    names = marks.get("id", "").split(TOGETHER)
    mine = [roster.found({"id": name, "name": name}) for name in names]
    return tuple(one for each in mine for one in each) if all(mine) else ()


def _one(hand_ins: Sequence[HandIn], *, shared: bool) -> HandIn:
    """Several hand-ins of the same students are attempts, if all have a time."""
    if len(hand_ins) == 1 and not shared:
        return hand_ins[0]
    attempts = [attempt for one in hand_ins for attempt in one.attempts]
    timed = [(one.when, one) for one in attempts if one.when]
    if shared or len(timed) < max(len(attempts), len(hand_ins)):
        listed = ", ".join(one_line(one.source.name) for one in attempts)
        why = f"several submissions are of the same student: {listed}; keep only one"
        return replace(hand_ins[0], why=why)
    timed.sort(key=lambda pair: pair[0])
    numbered = [
        replace(attempt, number=number, of=len(timed))
        for number, (_, attempt) in enumerate(timed, start=1)
    ]
    return replace(hand_ins[0], attempts=tuple(numbered))


# ---- which attempt -------------------------------------------------------------------


def chosen(one: HandIn, rule: str, deadline: datetime) -> list[Attempt]:
    """The attempts to grade: all for "best". Raises GraderError with the reason if none
    can be.
    """
    if one.why or not one.attempts:
        raise GraderError(one.why or "nothing was handed in")
    attempts = list(one.attempts)
    if rule not in (BEST, BEFORE_DEADLINE):
        return attempts[-1:]
    late = attempts[-1].when and attempts[-1].when > deadline
    if late and one.before and (earlier := one.before(deadline)):
        attempts.insert(-1, earlier)
    if rule == BEST:
        return attempts
    if len(attempts) > 1 and not all(attempt.when for attempt in attempts):
        raise GraderError(
            f"nobody knows which of the {len(attempts)} attempts was handed in before "
            "the deadline: keep only this one"
        )
    in_time = [one for one in attempts if not one.when or one.when <= deadline]
    return in_time[-1:] or attempts[:1]


def best(graded: Iterable[tuple[Any, Mapping[str, Any]]]) -> tuple[Any, Any]:
    """The first attempt with the most points, of attempts with their results."""
    return max(graded, key=lambda pair: _points(pair[1]))


def _points(result: Mapping[str, Any]) -> float:
    """All points of a result; one that could not be graded has fewer than any."""
    found = result.get("results")
    return found["points"] + found["extra"] if found else -1.0
