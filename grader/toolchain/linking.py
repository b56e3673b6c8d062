# SPDX-License-Identifier: MIT
"""Chooses the objects that a rung is linked with, for each use, and links them.

If a student's rung has passed, it is used, else the given object. A rung is graded
alone, with the rungs that it uses. Its walk calls lower rungs for the cases that the
rung does not cover. Only timing and other rungs use a walk.

This run says which rungs passed. If it did not check a rung, a function tells the
result of earlier runs. A use in lab.toml that no function calls needs no object.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from signatures import DIRECTIONS

from grader.course.candidates import candidates
from grader.course.rungs import Rung
from grader.course.tasks import all_tasks
from grader.course.uses import LOWER, OWN, Use
from grader.toolchain import given, gpu_build, walks
from grader.toolchain.build import compiled
from grader.toolchain.products import GPU, PART, Build, objects
from grader.verdicts import Verdict

# who is asked for what a rung leaves: right rungs of the ladder; at last the given one
OWN_FILES, WITH_GIVEN = "walk", "walk-with-given"
# of a rung as it is now, in a direction: PASS, pending, another word; None if unknown
Earlier = Callable[[Rung, str], str | None]


class Judge(Protocol):
    """Who finds out whether a rung is right of which no run knows."""

    def is_right(self, links: Links, rung: Rung, direction: str) -> bool: ...


@dataclass(frozen=True, eq=False)
class Part:
    """An object that a library is linked with."""

    name: str  # for reports: a rung's id, or the name of a given object
    file: str  # % for the dtype; "" of the rung that is being linked
    operator: str  # its functions are OPERATOR_DIRECTION
    directions: tuple[str, ...]
    calls: Calls = field(default_factory=dict)


Calls = Mapping[str, Part]  # the functions that a rung calls -> what serves each
Parts = Mapping[str, Part]  # direction -> the object whose function it is


class Links:
    """Chooses and links, and remembers what passed. One for each grading."""

    def __init__(
        self,
        compile: Callable[[Rung], Build] = compiled,
        earlier: Earlier = lambda rung, direction: None,
        judge: Judge | None = None,
    ) -> None:
        """`compile` gives a rung's build in release mode, perhaps made before."""
        self._compile, self.earlier, self._judge = compile, earlier, judge
        self._now: dict[str, dict[str, bool]] = {}  # rung -> direction -> passed
        self._built: dict[tuple[str, str, str], Build] = {}
        self._parts: dict[tuple[str, str, str], Parts] = {}

    def found(self, rung: Rung, direction: str, verdict: Verdict | None) -> None:
        """This run has checked a direction of a rung (None: it has not)."""
        if verdict is None:
            return
        passed = verdict is Verdict.PASS
        before = bool(self._found(rung, direction))
        if passed != before:  # others may be linked with it now
            keep = partial(_is_below, rung)
            self._built = {k: b for k, b in self._built.items() if keep(k[0])}
            self._parts = {k: p for k, p in self._parts.items() if keep(k[0])}
        self._now.setdefault(rung.id, {})[direction] = passed

    def learnt(self) -> dict[str, dict[str, bool]]:
        """What this run has found out, for another process to `learn`."""
        return {name: dict(found) for name, found in self._now.items()}

    def learn(self, learnt: Mapping[str, Mapping[str, bool]]) -> None:
        """Take over what this run has found out elsewhere. Nothing that was linked here
        changes by it: a rung is linked when all that it can be linked with is decided.
        """
        for name, found in learnt.items():
            self._now.setdefault(name, {}).update(found)

    def passed(self, rung: Rung, direction: str) -> bool:
        """Whether a rung is known to be right in this direction."""
        right = self._found(rung, direction)
        if right is None and self._judge:
            right = self._judge.is_right(self, rung, direction)
            self._now.setdefault(rung.id, {})[direction] = right
        return bool(right)

    def _found(self, rung: Rung, direction: str) -> bool | None:
        """What this run or an earlier one found; None if neither looked."""
        now = self.found_now(rung, direction)
        if now is None and self.passed_before(rung, direction):
            return True
        return now

    def found_now(self, rung: Rung, direction: str) -> bool | None:
        """What this run found of a rung; None if it did not look."""
        return self._now.get(rung.id, {}).get(direction)

    def passed_before(self, rung: Rung, direction: str) -> bool:
        """Whether an earlier run found a rung right, as it is now."""
        return self.earlier(rung, direction) == "PASS"

    # ---- one rung --------------------------------------------------------------------

    def build(self, rung: Rung, *, mode: str = "release", walk: str = "") -> Build:
        """The rung with all it uses inside, or `blocked` if nothing serves a use.

        A `walk` asks lower right rungs of the ladder for what the rung leaves; with
        WITH_GIVEN also the given object.
        """
        key = rung.id, mode, walk
        if key not in self._built:
            self._built[key] = self._linked(rung, mode, walk)
        return self._built[key]

    def nearest(
        self, rung: Rung, built: Build, direction: str, mode: str, walk: str
    ) -> Build:
        """What is timed of a direction: the rung's own build, or that of the nearest
        lower rung that is right in it.
        """
        if direction in built.directions:
            return built
        ladder = next(task.rungs for task in all_tasks() if task.id == rung.task)
        for other in reversed([r for r in ladder if r.file.stem < rung.file.stem]):
            if self.passed(other, direction):
                found = self.build(other, mode=mode, walk=walk)
                if direction in found.directions and found.libraries:
                    return found
        return built

    def _linked(self, rung: Rung, mode: str, walk: str) -> Build:
        built = self._compiled_in(rung, mode)
        calls = self._calls(rung, built, mode, walk)
        if isinstance(calls, str):
            return Build({}, blocked=calls)
        if not calls:
            return built
        words = _Words(_served("", rung, built, calls)).all()
        folder = walk_folder(mode, walk)
        linked = compiled(rung, mode=mode, used=words, folder=folder)
        names = {symbol: part.name for symbol, part in calls.items()}
        return dataclasses.replace(linked, uses=_by_alias(rung, names))

    def _compiled_in(self, rung: Rung, mode: str) -> Build:
        """A rung, compiled in a mode before anything is linked that it uses."""
        return self._compile(rung) if mode == "release" else compiled(rung, mode=mode)

    def _calls(self, rung: Rung, built: Build, mode: str, walk: str) -> Calls | str:
        """What serves the functions that a compiled rung calls, and in a walk those
        below it; or why nothing can.
        """
        calls = {}
        for use in rung.uses:
            lower = use.alias == LOWER
            wanted = use.symbols_of(built.directions) if lower else built.wants
            for symbol in [s for s in use.symbols if s in wanted]:
                if lower and not walk:
                    continue
                found = self._serve(rung, use, symbol, mode, walk)
                if found is None and not lower:
                    return _cause(use, symbol)
                if found is not None:
                    calls[symbol] = found
        return calls

    def _serve(
        self, rung: Rung, use: Use, symbol: str, mode: str, walk: str
    ) -> Part | None:
        """The object that a symbol of a use comes from."""
        tasks = {task.id: task for task in all_tasks()}
        direction = symbol.rpartition("_")[2]
        lower = use.alias == LOWER
        inside = walk if lower else WITH_GIVEN
        for other in candidates(rung, use, tasks):
            if mode == GPU and gpu_build.lacking(other):
                continue  # on this card a lower rung stands for it
            passed = self.passed(other, direction)
            if passed and (part := self._served_by(other, mode, inside).get(direction)):
                return part
            if use.target == other.id and not use.within(rung.task):
                built = self._compile(other)
                if built.error or direction in built.directions:
                    break  # it is there but not right: no lower rung stands for it
        if rung.file.suffix == ".cu" or inside != WITH_GIVEN:
            return None  # given objects are for the CPU, and earn nothing
        return _given((use.target or rung.task).split("/")[1], direction)

    def _served_by(self, rung: Rung, mode: str, walk: str) -> Parts:
        """What serves a rung's directions in libraries of others."""
        key = rung.id, mode, walk
        if key not in self._parts:
            built = self._compiled_in(rung, mode)
            calls = self._calls(rung, built, mode, walk)
            usable = built.libraries or built.wants
            self._parts[key] = {}
            if usable and not isinstance(calls, str):
                file = _any_dtype(str(objects(rung, mode)["f32"]))
                self._parts[key] = _served(file, rung, built, calls)
        return self._parts[key]


def walk_folder(mode: str, walk: str) -> str:
    """Where a walk is built; "" if it is none: then in the folder of the mode."""
    return f"{mode}-{walk}" if walk else ""


def _served(file: str, rung: Rung, built: Build, calls: Calls) -> Parts:
    """What serves a rung's directions: its object, or the walk from it to a lower one.
    Its own calls have no part in the walk.
    """
    operator = rung.operator
    lower = {s: part for s, part in calls.items() if s.startswith(f"{LOWER}_")}
    others = {s: part for s, part in calls.items() if s not in lower}
    own = Part(rung.id, file, operator, built.directions, others)
    found = dict.fromkeys(built.directions, own)
    for symbol, below in lower.items():
        direction = symbol.removeprefix(f"{LOWER}_")
        both = {f"{OWN}_{direction}": own, symbol: below}
        walk = str(walks.walk(operator, direction))
        found[direction] = Part(rung.id, walk, operator, (direction,), both)
    return found


def _is_below(rung: Rung, name: str) -> bool:
    """Whether a rung of this name is of the same ladder, and no higher one."""
    return name <= rung.id and name.rpartition("/")[0] == rung.task


def _given(operator: str, direction: str) -> Part | None:
    """The given object of an operator, if it has this direction."""
    found = {d: given.find(operator, d) for d in DIRECTIONS}
    named = found[direction]
    directions = tuple(d for d in DIRECTIONS if found[d])
    return Part(*named, operator, directions) if named else None


class _Words:
    """What common/uses.mk is told of the objects that a library is linked with."""

    def __init__(self, exported: Parts) -> None:
        """`exported`: what serves each direction of the library."""
        self._exported = exported
        parts = {_key(part): part for part in _ordered(exported)}
        self._numbers = {key: number for number, key in enumerate(parts)}
        self._others: dict[str, str] = {}  # one more name -> the name of a function
        self._linked = [self._of(part) for part in parts.values()]

    def all(self) -> list[str]:
        """The names of each object, then other names of functions."""
        return [*self._linked, *map("=".join, self._others.items())]

    def _of(self, part: Part) -> str:
        own = (f"{part.operator}_{d}={self._new(part, d)}" for d in part.directions)
        return f"{','.join([*own, *self._called(part.calls)])}@{part.file}"

    def _called(self, calls: Calls) -> list[str]:
        """The functions that a rung calls, and their names here: each has its own."""
        names: dict[str, str] = {}  # new -> old
        for symbol, part in calls.items():
            usual = new = self._new(part, symbol.rpartition("_")[2])
            while new in names:
                new += "_"
                self._others[new] = usual
            names[new] = symbol
        return [f"{old}={new}" for new, old in names.items()]

    def _new(self, part: Part, direction: str) -> str:
        if self._exported.get(direction) is part:
            return f"{part.operator}_{direction}"
        return f"{PART}{self._numbers[_key(part)]}_{direction}"


def _key(part: Part) -> tuple[str, str]:
    """What tells an object from others: walks of two rungs have one file."""
    return part.name, part.file


def _ordered(calls: Calls) -> list[Part]:
    """All objects that are called, also by one another; an object stands before those
    that it calls, as the linker wants it of archives.
    """
    found: list[Part] = []

    def visit(part: Part) -> None:
        if part not in found:
            for other in part.calls.values():
                visit(other)
            found.append(part)

    for part in calls.values():
        visit(part)
    return found[::-1]


def _cause(use: Use, symbol: str) -> str:
    """Why nothing can be linked for a symbol."""
    direction = symbol.rpartition("_")[2]
    return (
        f"calls '{symbol}', but {use.target} has not passed {direction}, and there is "
        f"no given/{given.arch()}/{use.target.split('/')[1]} for it. Grade it first: "
        f"make grade T={use.target}. You lose no points until then"
    )


def _by_alias(rung: Rung, names: dict[str, str]) -> dict[str, str]:
    """Alias -> what serves it; by symbol if its two functions come from two places."""
    made: dict[str, str] = {}
    for use in rung.uses:
        mine = {symbol: names[symbol] for symbol in use.symbols if symbol in names}
        if len(set(mine.values())) == 1:
            made[use.alias] = next(iter(mine.values()))
        else:
            made.update(mine)
    return made


def _any_dtype(file: str) -> str:
    """A file for f32 as a pattern, % for the dtype."""
    head, _, tail = file.rpartition(".f32.")
    return f"{head}.%.{tail}"
