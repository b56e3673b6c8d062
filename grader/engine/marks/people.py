# SPDX-License-Identifier: MIT
"""Reads people.toml, where a person decides about a student.

No command ever writes it, so it survives every regrading.

    ["alice"]
    name = "Alice Example"
    late_days = 0                  # counts instead of the late days of every part
    tasks."02_naive_c/gelu" = { points = 12, comment = "the idea is right" }
    written.q1 = { points = 4 }
    regrades = [{ of = "02_naive_c/gelu", asked = "the case is wrong", outcome = "" }]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from grader.course.handed.inbox import named
from grader.course.offered.checked import Place, read
from grader.course.offered.course_file import Course

_WORDS = {
    *("name", "email", "id", "canvas_id", "login", "section"),
    *("late_days", "extension_days", "comment", "tasks", "written"),
    "regrades",
}
LARGEST = 10000


@dataclass(frozen=True)
class Given:
    """Points that a person gives, and why."""

    points: float
    comment: str = ""


@dataclass(frozen=True)
class Regrade:
    """What a student asked for, and what came of it."""

    of: str  # a task or a question
    asked: str
    outcome: str = ""  # "": nobody has decided yet


@dataclass(frozen=True)
class Person:
    """A student, as people.toml has them; nothing of it is needed to grade."""

    name: str = ""
    email: str = ""
    id: str = ""  # ID number of Moodle, SIS User ID of Canvas
    canvas_id: str = ""
    login: str = ""
    section: str = ""
    late_days: int | None = None  # counts instead of what the clock says
    extension_days: float = 0.0  # every deadline is so much later
    comment: str = ""
    tasks: Mapping[str, Given] = field(default_factory=dict)
    written: Mapping[str, Given] = field(default_factory=dict)
    regrades: tuple[Regrade, ...] = ()


def people(file: Path, made: Course) -> dict[str, Person]:
    """Everybody in the file; nobody if there is none. Raises GraderError."""
    if not file.exists():
        return {}
    found: dict[str, Person] = {}
    for name, one in read(file).table().items():
        if named(name) in found:
            raise one.wrong(
                "each student once", f"{named(name)} is there in two spellings"
            )
        found[named(name)] = _person(one, made)
    return found


def _person(place: Place, made: Course) -> Person:
    place.table(_WORDS)
    late = place.get("late_days")
    return Person(
        place.get("name").text("a name", default=""),
        place.get("email").text("an address", default=""),
        place.get("id").text("a number in quotes", default=""),
        place.get("canvas_id").text("a number in quotes", default=""),
        place.get("login").text("a name", default=""),
        place.get("section").text("a name", default=""),
        None if late.value is None else late.whole("days", low=0, high=1000),
        place.get("extension_days").number("days", low=0, high=1000, default=0),
        place.get("comment").text("a sentence", default=""),
        _given(
            place.get("tasks"),
            dict.fromkeys(made.offers, LARGEST),
            "a task of the course",
        ),
        _given(
            place.get("written"),
            {one.id: one.points for one in made.questions.values()},
            "a question of the course",
        ),
        tuple(_regrade(one, made) for one in place.get("regrades").items("tables")),
    )


def _regrade(place: Place, made: Course) -> Regrade:
    place.table({"of", "asked", "outcome"})
    return Regrade(
        place.get("of").choice(
            [*made.offers, *made.questions], "a task or a question of the course"
        ),
        place.get("asked").text("a sentence"),
        place.get("outcome").text("a sentence", default="")
        if place.get("outcome").value
        else "",
    )


def _given(place: Place, most: Mapping[str, float], what: str) -> dict[str, Given]:
    """Points by the name of what they are for; `most`: how many each may get."""
    found = {}
    for name, one in (place.table() if place.value is not None else {}).items():
        if name not in most:
            raise Place(one.file, one.lines, one.path, name).unknown(most, what)
        one.table({"points", "comment"})
        points = one.get("points").number("points", low=0, high=most[name])
        found[name] = Given(points, one.get("comment").text("a sentence", default=""))
    return found
