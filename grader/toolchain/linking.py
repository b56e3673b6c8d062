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
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Protocol

from ladders import walks
from ladders.linked_parts import LOWER, Calls, Names, Part, Parts, served
from signatures import DIRECTIONS

from grader import once
from grader.course import rungs
from grader.course.candidates import candidates
from grader.course.rungs import Rung
from grader.course.tasks import all_tasks
from grader.course.uses import Use
from grader.errors import ProductError
from grader.toolchain import given, gpu_build
from grader.toolchain.build import compiled
from grader.toolchain.make import build_folder, compiler, reason
from grader.toolchain.products import GPU, Build, objects
from grader.verdicts import Verdict

# who is asked for what a rung leaves: right rungs of the ladder; at last the given one
OWN_FILES, WITH_GIVEN = "walk", "walk-with-given"
# of a rung as it is now, in a direction: PASS, pending, another word; None if unknown
Earlier = Callable[[Rung, str], str | None]


class Judge(Protocol):
    """Who finds out whether a rung is right of which no run knows."""

    def is_right(self, links: Links, rung: Rung, direction: str) -> bool: ...


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
        made = _served("", rung, built, calls)
        exported = {f"{rung.operator}_{d}": (part, d) for d, part in made.items()}
        words = Names(exported).words()
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
    below = {s: part for s, part in calls.items() if s.startswith(f"{LOWER}_")}
    others = {s: part for s, part in calls.items() if s not in below}
    own = Part(rung.id, file, rung.operator, built.directions, others)
    return served(own, below, walk)


def walk(operator: str, direction: str) -> str:
    """The object of a walk, made if it is not there. Raises ProductError if it does not
    compile.
    """
    file = build_folder() / "walks" / f"{operator}_{direction}.o"
    text, common = walks.source(operator, direction), rungs.ROOT / "common"
    seen = [(common / name).read_text() for name in ("operators.h", "context.h")]
    cc = compiler()

    def make(new: Path) -> None:
        if said := walks.compiled(operator, direction, cc, common, new):
            raise ProductError(
                f"cannot link the files that compute {operator} together: "
                f"{reason(said)}"
            )

    once.made(file, of=repr([text, *seen, shutil.which(cc)]), make=make)
    return str(file)


def _is_below(rung: Rung, name: str) -> bool:
    """Whether a rung of this name is of the same ladder, and no higher one."""
    return name <= rung.id and name.rpartition("/")[0] == rung.task


def _given(operator: str, direction: str) -> Part | None:
    """The given object of an operator, if it has this direction."""
    found = {d: given.find(operator, d) for d in DIRECTIONS}
    named = found[direction]
    directions = tuple(d for d in DIRECTIONS if found[d])
    return Part(*named, operator, directions) if named else None


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
