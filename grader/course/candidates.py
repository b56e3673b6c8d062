# SPDX-License-Identifier: MIT
"""Lists the rungs that may serve a use of another rung, the first choice first."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ladders.linked_parts import LOWER

from grader.errors import GraderError

if TYPE_CHECKING:
    from grader.course.rungs import Rung, Task
from grader.course.uses import Use

_LANGUAGE = {".c": "c", ".cu": "cuda"}  # whose rungs become objects


def verify(tasks: Iterable[Task]) -> None:
    """Raises GraderError for a use of what does not exist or leads back to itself."""
    by_id = {task.id: task for task in tasks}
    needs: dict[str, list[str]] = {}
    for task in by_id.values():
        for rung in task.rungs:
            if rung.uses and task.language not in _LANGUAGE.values():
                raise rung.uses[0].refuse("only a rung in C can use another rung")
            needs[rung.id] = [
                other.id for use in rung.uses for other in candidates(rung, use, by_id)
            ]
    straight: set[str] = set()
    for name in needs:
        _no_circle(name, needs, (), straight)


def candidates(rung: Rung, use: Use, by_id: Mapping[str, Task]) -> list[Rung]:
    """Rungs that may serve a use, the first choice first.

    Of a rung that lacks a direction the nearest lower one lends it, as in a grading; in
    the place of a rung without a file too (missing_rungs.py).
    Raises GraderError if there is no such rung or task.
    """
    unfit = {r.id for t in by_id.values() for r in t.rungs if not _runs_where(rung, r)}
    ladder, _, idea = use.target.partition("/")[2].partition("/")
    task = by_id.get(f"{use.target.partition('/')[0]}/{ladder}" if ladder else "")
    if use.target in unfit:
        here = all(
            r.needs <= rung.needs
            for t in by_id.values()
            for r in t.rungs
            if r.id == use.target
        )
        lacking = "does not compute in half, but this rung does"
        reason = lacking if here else "needs a GPU, but this rung does not"
        raise use.refuse(f"{use.target!r} {reason}")
    if use.within(rung.task):
        below = [r for r in by_id[rung.task].rungs if r.file.stem < rung.file.stem]
        below = [r for r in below if r.id not in unfit]
        named = [r for r in below if r.id == use.target]
        if use.target >= rung.id:
            raise use.refuse(f"{use.target!r} is not lower than this rung")
        if use.alias != LOWER:
            below = [r for r in below if r.id < use.target]
        return named + [r for r in reversed(below) if r not in named]
    if task is None:
        names = [*by_id, *(r.id for t in by_id.values() for r in t.rungs)]
        near = difflib.get_close_matches(use.target, names, n=3, cutoff=0.5)
        listed = f"; near it: {', '.join(near)}" if near else ""
        raise use.refuse(f"no task or rung is called {use.target!r}{listed}")
    if task.language != _LANGUAGE.get(rung.file.suffix):
        said = "CUDA" if rung.file.suffix == ".cu" else "C"
        raise use.refuse(f"{use.target!r} is not in {said} and has no object to link")
    chosen = [r for r in task.rungs if not idea or r.id <= use.target]
    return [r for r in reversed(chosen) if r.id not in unfit]


def _runs_where(caller: Rung, other: Rung) -> bool:
    """A rung that needs a GPU serves no rung that does not, and one that is not built
    for half none that is.
    """
    here = caller.needs == other.needs or not other.needs
    return here and set(caller.dtypes) <= set(other.dtypes)


def _no_circle(
    name: str, needs: Mapping[str, list[str]], path: tuple[str, ...], straight: set[str]
) -> None:
    if name in straight:
        return
    if name in path:
        circle = " -> ".join([*path[path.index(name) :], name])
        raise GraderError(
            f"rungs use each other in a circle: {circle}; remove one of these uses "
            "from lab.toml"
        )
    for other in needs.get(name, ()):
        _no_circle(other, needs, (*path, name), straight)
    straight.add(name)


def ordered(tasks: Iterable[Task]) -> list[Task]:
    """The tasks, each behind those whose rungs it uses, else as they were."""
    by_id = {task.id: task for task in tasks}
    done: dict[str, Task] = {}

    def visit(task: Task, path: tuple[str, ...]) -> None:
        if task.id in done or task.id in path:
            return
        for rung in task.rungs:
            for use in rung.uses:
                name = "/".join(use.target.split("/")[:2])
                if name in by_id:
                    visit(by_id[name], (*path, task.id))
        done[task.id] = task

    for task in by_id.values():
        visit(task, ())
    return list(done.values())
