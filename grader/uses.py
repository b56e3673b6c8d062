# SPDX-License-Identifier: MIT
"""What a rung uses of other rungs, as lab.toml says it.

    [rung."conv2d/00_unfold_gemm"]
    uses.gemm = "matmul/05_packed"            # a rung of the same lab
    uses.lower = "02_naive_c/unfold"          # a task: its best rung that passes
    uses.fallback = true                      # the nearest lower rung that passes
    uses.tiles = "conv2d/10_winograd_4x4"     # a lower rung of the same ladder by name

The caller declares `matmul_forward_fn gemm_forward;` and calls it. This module reads
and checks the words; linking.py finds the objects.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grader.errors import GraderError

if TYPE_CHECKING:
    from grader.tasks import Rung, Task

FALLBACK = "fallback"
NOBODY = "nobody"  # serves a use within a ladder where no lower rung is right
LEFT = "left to a lower file"  # what common/no_fallback.c then says of a case
DIRECTIONS = ("forward", "backward")
_ALIAS = re.compile(r"[a-z][a-z0-9_]*")
_LAB = re.compile(r"\d\d_\w+")
_LANGUAGE = {".c": "c", ".cu": "cuda"}  # whose rungs become objects


@dataclass(frozen=True)
class Use:
    """One alias of a rung."""

    alias: str  # gemm: the symbols are gemm_forward and gemm_backward
    target: str  # id of a rung or of a task; "" for the nearest lower rung
    where: str  # for messages: labs/.../lab.toml: rung 'conv2d/00_unfold_gemm'

    @property
    def symbols(self) -> tuple[str, ...]:
        """What the caller may declare and call."""
        return tuple(f"{self.alias}_{direction}" for direction in DIRECTIONS)

    def within(self, task: str) -> bool:
        """Whether it is served by a lower rung of the caller's own ladder: by the one
        that it names, or the nearest right one below that.
        """
        return self.alias == FALLBACK or self.target.startswith(f"{task}/")

    def refuse(self, reason: str) -> GraderError:
        """The error for this use."""
        return GraderError(f"{self.where}: uses.{self.alias}: {reason}")


def parse(where: str, lab: str, rung: str, entry: object) -> tuple[Use, ...]:
    """The `uses` of a rung of this lab; `rung` is conv2d/00_unfold_gemm.

    Raises GraderError for what can be told without looking at other entries.
    """
    if not isinstance(entry, Mapping):
        raise GraderError(
            f"{where}: uses is {entry!r}, expected lines like "
            'uses.gemm = "matmul/05_packed"'
        )
    return tuple(_use(where, lab, rung, alias, entry[alias]) for alias in entry)


def _use(where: str, lab: str, rung: str, alias: str, value: Any) -> Use:
    operator = rung.split("/")[0]
    target = value if isinstance(value, str) else ""
    if target and not _LAB.match(target):
        target = f"{lab}/{target}"
    use = Use(alias, target.rstrip("/"), where)
    if not _ALIAS.fullmatch(alias):
        raise use.refuse("an alias is made of small letters, digits and _")
    if alias in (operator, *DIRECTIONS):
        raise use.refuse(f"the name {alias!r} is taken, choose another alias")
    if alias == FALLBACK:
        if value is not True and not target:
            raise use.refuse(
                f"is {value!r}, expected true or the name of a lower rung of "
                f"the ladder '{operator}'"
            )
    elif not target:
        raise use.refuse(
            f'is {value!r}, expected the name of a rung, like "matmul/05_packed"'
        )
    same = target.split("/")[:2] == [lab, operator]
    if target and alias == FALLBACK and not same:
        raise use.refuse(
            f"{value!r} is not of the ladder '{operator}'; a fallback is a lower rung "
            "of the same ladder"
        )
    if target and target.count("/") not in (1, 2):
        raise use.refuse(f"{value!r} is neither a rung nor a task")
    if same and target.count("/") == 1:
        raise use.refuse(
            f"{value!r} is the ladder itself; name one of its lower rungs, or say "
            "uses.fallback = true"
        )
    return use


# ---- between entries -----------------------------------------------------------------


def verify(tasks: Iterable[Task]) -> None:
    """Raises GraderError for a use of what does not exist or leads back to itself."""
    known = {task.id: task for task in tasks}
    needs: dict[str, list[str]] = {}
    for task in known.values():
        for rung in task.rungs:
            if rung.uses and task.language not in _LANGUAGE.values():
                raise rung.uses[0].refuse("only a rung in C can use another one")
            needs[rung.id] = [
                other.id for use in rung.uses for other in candidates(rung, use, known)
            ]
    straight: set[str] = set()
    for name in needs:
        _no_circle(name, needs, (), straight)


def candidates(rung: Rung, use: Use, known: Mapping[str, Task]) -> list[Rung]:
    """Rungs that may serve a use, the first choice first.

    Of a rung that lacks a direction the nearest lower one lends it, as in a grading.
    Raises GraderError if there is no such rung or task.
    """
    unfit = {r.id for t in known.values() for r in t.rungs if not _runs_where(rung, r)}
    ladder, _, idea = use.target.partition("/")[2].partition("/")
    task = known.get(f"{use.target.partition('/')[0]}/{ladder}" if ladder else "")
    if use.target in unfit:
        here = all(
            r.needs <= rung.needs
            for t in known.values()
            for r in t.rungs
            if r.id == use.target
        )
        lacking = "is not for half, and this rung is"
        reason = lacking if here else "needs a GPU, and this rung does not"
        raise use.refuse(f"{use.target!r} {reason}")
    if use.within(rung.task):
        below = [r for r in known[rung.task].rungs if r.file.stem < rung.file.stem]
        below = [r for r in below if r.id not in unfit]
        named = [r for r in below if r.id == use.target]
        if use.target and not named:
            raise use.refuse(f"{use.target!r} is no lower rung of this ladder")
        if use.alias != FALLBACK:
            below = below[: below.index(named[0])]
        return named + [r for r in reversed(below) if r not in named]
    if task is None or (idea and not any(r.id == use.target for r in task.rungs)):
        names = [*known, *(r.id for t in known.values() for r in t.rungs)]
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
            f"rungs use each other in a circle: {circle}; take one of these uses out "
            "of lab.toml"
        )
    for other in needs.get(name, ()):
        _no_circle(other, needs, (*path, name), straight)
    straight.add(name)


def ordered(tasks: Iterable[Task]) -> list[Task]:
    """The tasks, each behind those whose rungs it uses, else as they were."""
    known = {task.id: task for task in tasks}
    done: dict[str, Task] = {}

    def visit(task: Task, path: tuple[str, ...]) -> None:
        if task.id in done or task.id in path:
            return
        for rung in task.rungs:
            for use in rung.uses:
                name = "/".join(use.target.split("/")[:2])
                if name in known:
                    visit(known[name], (*path, task.id))
        done[task.id] = task

    for task in known.values():
        visit(task, ())
    return list(done.values())
