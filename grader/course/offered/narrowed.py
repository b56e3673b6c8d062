# SPDX-License-Identifier: MIT
"""Narrows the tasks to what a course offers: its tasks, points, hints and speed.

A handout that was made for a course has its course.toml at the root. In the repository
lab.toml alone decides, even if an instructor's file is beside it. A task that is not
offered stays, so that others can use it. But it gives no points and is not graded.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from grader.course import rungs
from grader.course.bands import SpeedTask
from grader.course.handed.renewal import MANIFEST
from grader.course.offered.course_file import FILE, Course, course
from grader.course.rungs import Task


def names(tasks: Iterable[Task]) -> dict[str, list[str]]:
    """The tasks with the names of their files, as course.toml may name them."""
    return {task.id: [r.id.rpartition("/")[2] for r in task.rungs] for task in tasks}


def course_here(tasks: Iterable[Task]) -> Course | None:
    """The course that this tree was made for; None in the repository."""
    file = rungs.ROOT / FILE
    derived = (rungs.ROOT / MANIFEST).is_file() and file.is_file()
    return course(file, names(tasks)) if derived else None


def narrowed(tasks: Iterable[Task], made: Course | None) -> tuple[Task, ...]:
    """The tasks as the course has them, in the order of the labs."""
    return tuple(tasks) if made is None else tuple(_offered(t, made) for t in tasks)


def _offered(task: Task, made: Course) -> Task:
    offer = made.offers.get(task.id)
    if offer is None:
        return replace(task, points=0.0, core=False, speed=None, offered=False)
    speed = _scaled(task.speed, offer.points / task.points) if task.points else None
    return replace(
        task,
        points=offer.points,
        core=not offer.extra,
        hints=task.hints[: made.hints],
        rungs=tuple(replace(r, hints=r.hints[: made.hints]) for r in task.rungs),
        speed=speed if made.speed and offer.points else None,
    )


def _scaled(speed: SpeedTask | None, factor: float) -> SpeedTask | None:
    """Speed points keep their share of a task's points."""
    if speed is None:
        return None
    bands = {
        direction: replace(band, worth=band.worth * factor)
        for direction, band in speed.bands.items()
    }
    return SpeedTask(speed.points * factor, bands)
