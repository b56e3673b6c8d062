# SPDX-License-Identifier: MIT
"""Reads course.toml: which tasks an instructor offers, their points and deadlines.

The students' edition of the file does not contain hidden things. It also does not say
how written answers are marked.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from grader.course.offered.checked import Place, read, written

FILE = "course.toml"  # at the root of a tree that was made for a course
HIDDEN = "hidden_"  # how the names of hidden cases begin
ALL_HINTS = 3
ANSWERS = (
    "Hand in your answers to the written questions as one file, `answers.pdf` or "
    "`answers.md`, beside the archive of `labs`."
)
LAST, BEST, BEFORE_DEADLINE = ATTEMPTS = ("last", "best", "last before the deadline")
_WORDS = {
    *(
        "name",
        "title",
        "begins",
        "time_zone",
        "speed",
        "hints",
        "prerequisites",
        "goals",
    ),
    *("late", "solutions", "part", "hidden", "attempt", "answers"),
}
_PART_WORDS = {"id", "title", "due_days", "deadline", "goals", "tasks", "questions"}
_TASK_WORDS = {"points", "rungs", "hours", "extra"}
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")


@dataclass(frozen=True)
class Offer:
    """A task of the course."""

    task: str  # 02_naive_c/conv2d
    points: float
    rungs: tuple[str, ...] = ()  # of its files these are handed out; (): all of them
    hours: float = 0.0  # what it is expected to take
    extra: bool = False  # beyond what makes the full mark


@dataclass(frozen=True)
class Question:
    """A written question. A person marks it."""

    id: str
    text: str
    points: float
    rubric: tuple[str, ...] = ()  # for whoever marks it


@dataclass(frozen=True)
class Part:
    """A week, or whatever has one deadline."""

    id: str
    title: str
    deadline: datetime
    goals: tuple[str, ...] = ()
    offers: tuple[Offer, ...] = ()
    questions: tuple[Question, ...] = ()


@dataclass(frozen=True)
class Late:
    """What handing in late costs: nothing counts after `days` begun days."""

    percent_per_day: float
    days: int
    free_days: int = 0  # of each student, for the whole course


@dataclass(frozen=True)
class Hidden:
    """What students never see."""

    seeds: tuple[int, ...] = ()
    cases: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    places: Mapping[tuple[str, int], Place] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether anything is hidden."""
        return bool(self.seeds or self.cases)


@dataclass(frozen=True)
class Course:
    """The whole file."""

    name: str
    title: str
    begins: datetime
    parts: tuple[Part, ...]
    speed: bool = False
    hints: int = ALL_HINTS
    late: Late | None = None  # None: it costs nothing
    release_days: float | None = None  # after a deadline; None: never
    prerequisites: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    hidden: Hidden = field(default_factory=Hidden)
    zone: tzinfo | None = None  # of a moment without an offset; None: that of begins
    attempt: str = LAST  # of several attempts of a student, the one that counts
    answers: str = ANSWERS  # where students hand in written answers

    def moment(self, local: datetime) -> datetime:
        """A moment without an offset, by the course's clock."""
        return local.replace(tzinfo=self.zone or self.begins.tzinfo)

    def shown(self, when: datetime) -> str:
        """A moment, by the course's clock."""
        local = when.astimezone(self.zone or self.begins.tzinfo)
        return local.isoformat(sep=" ", timespec="minutes")

    @property
    def offers(self) -> dict[str, Offer]:
        """Every task by its id."""
        return {offer.task: offer for part in self.parts for offer in part.offers}

    @property
    def questions(self) -> dict[str, Question]:
        """Every written question by its id."""
        return {one.id: one for part in self.parts for one in part.questions}

    def ships(self, rung: str) -> bool:
        """Whether a rung of the repository, by its id, is handed out."""
        task, _, stem = rung.rpartition("/")
        offer = self.offers.get(task)
        return offer is not None and (not offer.rungs or stem in offer.rungs)

    @property
    def of(self) -> float:
        """The full mark: tasks that are not extra, and questions."""
        tasks = sum(o.points for o in self.offers.values() if not o.extra)
        return tasks + sum(one.points for one in self.questions.values())


def course(file: Path, rungs: Mapping[str, Collection[str]]) -> Course:
    """A course's file. `rungs`: the repository's tasks with the names of their files.

    Raises GraderError for the first word that is wrong.
    """
    top = read(file)
    top.table(_WORDS)
    name = top.get("name")
    if not _NAME.fullmatch(name.text("a short name")):
        raise name.wrong("small letters, digits, - and _", "it names folders")
    begins = top.get("begins").moment()
    parts = [
        _part(place, begins, rungs)
        for place in top.get("part").items("[[part]] tables")
    ]
    _once(top, parts)
    made = Course(
        name.value,
        top.get("title").text("a title"),
        begins,
        tuple(parts),
        top.get("speed").flag(default=False),
        top.get("hints").whole(
            "hints of a task", low=0, high=ALL_HINTS, default=ALL_HINTS
        ),
        _late(top.get("late")),
        _release(top.get("solutions")),
        top.get("prerequisites").texts("a sentence"),
        top.get("goals").texts("a sentence"),
        _hidden(top.get("hidden"), {task.split("/")[1] for task in rungs}),
        _zone(top.get("time_zone")),
        _attempt(top.get("attempt")),
        top.get("answers").text("a sentence", default=ANSWERS),
    )
    if not made.offers:
        raise top.get("part").wrong(
            "at least one task",
            'add [part.tasks] with "02_naive_c/add" = { points = 5 }',
        )
    return made


def _once(top: Place, parts: list[Part]) -> None:
    """Raises GraderError for a part, task or question that is there twice."""
    seen: set[tuple[str, str]] = set()
    for number, part in enumerate(parts):
        place = top.get("part").items("tables")[number]
        tasks = place.get("tasks")
        mine = [("part", part.id, place.get("id"))]
        mine += [("task", o.task, tasks.get(o.task)) for o in part.offers]
        questions = place.get("questions").items("tables")
        mine += [("question", q.id, p) for q, p in zip(part.questions, questions)]
        for kind, name, where in mine:
            if (kind, name) in seen:
                raise where.wrong(
                    f"a {kind} that no other part has", f"{name!r} is there twice"
                )
            seen.add((kind, name))


def _part(place: Place, begins: datetime, rungs: Mapping[str, Collection[str]]) -> Part:
    place.table(_PART_WORDS)
    days, deadline = place.get("due_days"), place.get("deadline")
    if (days.value is None) == (deadline.value is None):
        raise place.wrong(
            "either due_days or deadline",
            "due_days = 7 counts from `begins`; a deadline is a date with time",
        )
    if days.value is not None:
        ends = begins + timedelta(days=days.number("days", low=0, high=1000))
    else:
        ends = deadline.moment()
    if ends < begins:
        raise deadline.wrong("a moment after `begins`", "change one of the two")
    name = place.get("id")
    if not _NAME.fullmatch(name.text("a short name")):
        raise name.wrong("small letters, digits, - and _", "for example week_1")
    tasks = place.get("tasks")
    offers = [] if tasks.value is None else [
        _offer(one, rungs) for one in tasks.table().values()
    ]  # fmt: skip
    return Part(
        name.value,
        place.get("title").text("a title"),
        ends,
        place.get("goals").texts("a sentence"),
        tuple(offers),
        tuple(_question(one) for one in place.get("questions").items("tables")),
    )


def _offer(place: Place, rungs: Mapping[str, Collection[str]]) -> Offer:
    task = str(place.path[-1])
    if task not in rungs:
        raise Place(place.file, place.lines, place.path, task).unknown(
            rungs, "a task as make grade lists them, like 02_naive_c/conv2d"
        )
    place.table(_TASK_WORDS)
    for one in place.get("rungs").items("files of the task"):
        one.choice(rungs[task], f"a file of {task}, without its ending")
    return Offer(
        task,
        place.get("points").number("points", low=0, high=10000),
        place.get("rungs").texts("a file of the task"),
        place.get("hours").number("hours", low=0, high=1000, default=0),
        place.get("extra").flag(default=False),
    )


def _question(place: Place) -> Question:
    place.table({"id", "text", "points", "rubric"})
    name = place.get("id")
    if not _NAME.fullmatch(name.text("a short name")):
        raise name.wrong("small letters, digits, - and _", "for example q1")
    return Question(
        name.value,
        place.get("text").text("a question"),
        place.get("points").number("points", low=0, high=10000),
        place.get("rubric").texts("a sentence"),
    )


def _zone(place: Place) -> tzinfo | None:
    if place.value is None:
        return None
    try:
        return ZoneInfo(place.text("a time zone"))
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise place.wrong(
            "a time zone that this machine knows, like Europe/Berlin",
            "a machine without time zones needs the package tzdata",
        ) from error


def _attempt(place: Place) -> str:
    if place.value is None:
        return LAST
    return place.choice(ATTEMPTS, " or ".join(f'"{one}"' for one in ATTEMPTS))


def _late(place: Place) -> Late | None:
    if place.value is None:
        return None
    place.table({"percent_per_day", "days", "free_days"})
    return Late(
        place.get("percent_per_day").number("percent", low=0, high=100),
        place.get("days").whole("days", low=0, high=1000),
        place.get("free_days").whole("days", low=0, high=1000, default=0),
    )


def _release(place: Place) -> float | None:
    if place.value is None:
        return None
    place.table({"after_days"})
    return place.get("after_days").number("days", low=0, high=1000)


def _hidden(place: Place, operators: Collection[str]) -> Hidden:
    if place.value is None:
        return Hidden()
    place.table({"seeds", "cases"})
    seeds = [
        # so long that a search for it in other files finds nothing else
        one.whole("a number of 6 to 9 digits", low=100_000, high=999_999_999)
        for one in place.get("seeds").items("numbers")
    ]
    cases: dict[str, tuple[Mapping[str, Any], ...]] = {}
    places = {}
    tables = place.get("cases")
    for operator, lines in (tables.table() if tables.value else {}).items():
        if operator not in operators:
            raise Place(place.file, place.lines, lines.path, operator).unknown(
                operators, "an operator"
            )
        found = lines.items("cases, as in grader/operators/cases")
        for number, one in enumerate(found):
            one.table()
            name = one.get("name")
            named = name.text("a name")
            if not re.fullmatch(rf"{HIDDEN}[a-z0-9_]{{3,}}", named):
                raise name.wrong(
                    f"a name that begins with {HIDDEN}",
                    f"for example {HIDDEN}wide_stride: reports tell no such case",
                )
            places[operator, number] = one
        cases[operator] = tuple(one.value for one in found)
    return Hidden(tuple(seeds), cases, places)


# ---- editions ------------------------------------------------------------------------


def for_grading(made: Course) -> str:
    """What the tree that grades others' work has: the students' edition, and the seeds.
    Hidden cases stand in the files of cases there.
    """
    seeds = f"\n[hidden]\nseeds = {written(made.hidden.seeds)}\n"
    return for_students(made) + (seeds if made.hidden else "")


def for_students(made: Course) -> str:
    """The file without what is hidden and without rubrics, written anew. The tree says
    by itself which files were handed out.
    """
    head = {
        "name": made.name,
        "title": made.title,
        "begins": made.begins,
        "speed": made.speed,
        "hints": made.hints,
        "prerequisites": made.prerequisites,
        "goals": made.goals,
    }
    lines = [f"{key} = {written(value)}" for key, value in head.items()]
    if late := made.late:
        lines += ["", "[late]", f"percent_per_day = {written(late.percent_per_day)}"]
        lines += [f"days = {late.days}", f"free_days = {late.free_days}"]
    if made.release_days is not None:
        lines += ["", "[solutions]", f"after_days = {written(made.release_days)}"]
    for part in made.parts:
        lines += ["", "[[part]]", f"id = {written(part.id)}"]
        lines += [f"title = {written(part.title)}"]
        lines += [f"deadline = {written(part.deadline)}"]
        lines += [f"goals = {written(part.goals)}", "questions = ["]
        lines += [
            f"  {written({'id': q.id, 'points': q.points, 'text': q.text})},"
            for q in part.questions
        ]
        lines += ["]", "", "[part.tasks]"]
        lines += [f"{written(o.task)} = {_as_table(o)}" for o in part.offers]
    return "\n".join(lines) + "\n"


def _as_table(offer: Offer) -> str:
    words: dict[str, Any] = {"points": offer.points, "hours": offer.hours}
    if offer.extra:
        words["extra"] = True
    return written(words)
