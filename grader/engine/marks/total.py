# SPDX-License-Identifier: MIT
"""Adds up a student's points in a course, and subtracts what lateness costs.

The record keeps the points of a task as a share of the task's points when it was
graded. If course.toml gives other points now, the share counts. If a person gives
points, they count without change, however late the work was.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from grader.course.offered.course_file import Course, Part
from grader.engine.marks.desk import Record
from grader.engine.marks.people import Given, Person
from grader.verdicts import Verdict

DAY = timedelta(days=1)
NO_REASON = "not graded: ask your teacher for the reason"
LOOK_AT = (Verdict.FORBIDDEN, Verdict.SUSPECT)


@dataclass(frozen=True)
class Item:
    """A task or a question in a student's mark."""

    part: str
    name: str
    points: float
    of: float
    extra: bool = False
    pending: float = 0.0
    comment: str = ""
    by_hand: bool = False
    graded: float | None = None  # by hand: what would count without it
    missing: bool = False  # nothing was handed in, or nobody has marked it
    suspicious: tuple[str, ...] = ()  # "FORBIDDEN 02_naive_c/gelu/00_definition"

    @property
    def told(self) -> str:
        """Its points, and what a person said of it, in one text."""
        points = f"{self.name} {self.points:g} of {self.of:g}"
        return f"{points}: {self.comment}" if self.comment else points


@dataclass(frozen=True)
class Total:
    """A student's mark."""

    student: str
    person: Person
    items: tuple[Item, ...]
    late: dict[str, int]  # part -> begun days that cost points
    left: dict[str, float]  # part -> the share of its graded points that counts
    untimed: tuple[
        str, ...
    ] = ()  # parts whose lateness counts, with no time to tell it
    refused: str = ""  # why the last hand-in could not be graded
    dropped: tuple[str, ...] = ()  # files that were handed in and do not count

    @property
    def points(self) -> float:
        """The sum, extra points included."""
        return round(sum(item.points for item in self.items), 4)

    @property
    def pending(self) -> float:
        """Neither earned nor lost."""
        return round(sum(item.pending for item in self.items), 4)

    def of_part(self, part: str) -> float:
        """The points of a part."""
        mine = [item.points for item in self.items if item.part == part]
        return round(sum(mine), 4)

    def lateness(self, part: str) -> str:
        """What being late cost in a part; "" if it cost nothing."""
        days, left = self.late[part], self.left[part]
        if not days or left == 1:
            return ""
        named = "1 late day" if days == 1 else f"{days} late days"
        return f"{named}: {100 * left:g} % of the graded points count"

    @property
    def refusal(self) -> str:
        """That the last hand-in could not be graded, and why; "" if it could."""
        return self.refused and f"not graded: {self.refused}"

    def comments(self, part: str, *, hides: bool) -> str:
        """The points of each task of a part, and what was said of it, in one text.
        `hides`: the course hides something, and the reason of a refusal may hold it.
        """
        refusal = self.refusal and NO_REASON if hides else self.refusal
        said = [self.person.comment, refusal, self.lateness(part)]
        said += [item.told for item in self.items if item.part == part]
        return "; ".join(filter(None, said))


def total(
    student: str,
    person: Person,
    record: Record | None,
    made: Course,
    refused: str = "",
) -> Total:
    """A student's mark by the rules of the course."""
    late = _late_days(person, record, made)
    left = {part: _share(days, made) for part, days in late.items()}
    items: list[Item] = []
    for part in made.parts:
        items += _tasks(part, person, record, left[part.id])
        items += _questions(part, person)
    return Total(
        student,
        person,
        tuple(items),
        late,
        left,
        _untimed(person, record, made),
        refused,
        tuple(record.left) if record else (),
    )


def _untimed(person: Person, record: Record | None, made: Course) -> tuple[str, ...]:
    """The parts that may be late, and nobody knows."""
    if made.late is None or record is None or person.late_days is not None:
        return ()
    unknown = {task for task, when in record.handed_in.items() if when is None}
    return tuple(
        part.id for part in made.parts if unknown & {one.task for one in part.offers}
    )


def _late_days(person: Person, record: Record | None, made: Course) -> dict[str, int]:
    """Begun days after each deadline; free days go to the first parts in need, and none
    to a part that counts nothing even so.
    """
    free = made.late.free_days if made.late else 0
    found = {}
    for part in made.parts:
        days = _begun(part, person, record)
        if person.late_days is not None:
            found[part.id] = person.late_days if days is not None else 0
            continue
        used = min(free, days or 0)
        if made.late and (days or 0) - used > made.late.days:
            used = 0
        free -= used
        found[part.id] = (days or 0) - used
    return found


def _begun(part: Part, person: Person, record: Record | None) -> int | None:
    """Begun days from a part's deadline to its last file; None if there is none. A file
    of unknown time is not late.
    """
    times = record.handed_in if record else {}
    mine = [times[offer.task] for offer in part.offers if offer.task in times]
    if not mine:
        return None
    ends = part.deadline + person.extension_days * DAY
    last = max((when for when in mine if when), default=ends)
    return max(0, math.ceil((last - ends) / DAY))


def _share(days: int, made: Course) -> float:
    """What is left of the points after so many late days."""
    if made.late is None or days == 0:
        return 1.0
    if days > made.late.days:
        return 0.0
    return max(0.0, 1 - days * made.late.percent_per_day / 100)


def _tasks(
    part: Part, person: Person, record: Record | None, share: float
) -> list[Item]:
    entries = {one["id"]: one for one in record.results["tasks"]} if record else {}
    items = []
    for offer in part.offers:
        given, entry = person.tasks.get(offer.task), entries.get(offer.task)
        if entry is None:
            items.append(_by_hand(part, offer.task, offer.points, given, offer.extra))
            continue
        worth = offer.points / entry["of"] if entry["of"] else 0.0
        points, pending = (entry[w] * worth * share for w in ("points", "pending"))
        if given:
            one = _by_hand(part, offer.task, offer.points, given, offer.extra)
            items.append(replace(one, graded=round(points, 4)))
            continue
        items.append(
            Item(
                part.id,
                offer.task,
                round(points, 4),
                offer.points,
                offer.extra,
                round(pending, 4),
                suspicious=_suspicious(entry),
            )
        )
    return items


def _suspicious(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """The files of a graded task that a person should look at."""
    found = {
        f"{check['verdict']} {rung['id']}": None
        for rung in entry["rungs"]
        for check in (*rung["checks"], *rung["speed"])
        if check["verdict"] in LOOK_AT
    }
    return tuple(found)


def _questions(part: Part, person: Person) -> list[Item]:
    return [
        _by_hand(part, one.id, one.points, person.written.get(one.id))
        for one in part.questions
    ]


def _by_hand(
    part: Part, name: str, of: float, given: Given | None, extra: bool = False
) -> Item:
    if given is None:
        return Item(part.id, name, 0.0, of, extra, missing=True)
    words = given.points, of, extra, 0.0, given.comment
    return Item(part.id, name, *words, by_hand=True)
