# SPDX-License-Identifier: MIT
"""Chooses the rungs of lab 05's kernels, by their files and by lab.toml alone.

The lab.toml of lab 05 names a ladder or a rung for each operator. The highest rung that
is written serves, with all rungs that it uses. If it covers some cases only, there is a
walk over the lower rungs. This module does not know which rungs are right. The grader
knows it, and makes the kernels itself when it builds the lab.

A starter of the handout is not written. Its function returns STATUS_NOT_IMPLEMENTED.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from signatures import DIRECTIONS

from ladders import Refusal
from ladders.linked_parts import LOWER, Part, served

DIRECT = "direct"  # a second set of kernels for the processor
_STARTER = re.compile(r"^\s+return STATUS_NOT_IMPLEMENTED;", re.MULTILINE)


@dataclass(frozen=True)
class Rung:
    """A file of a ladder, with its words in lab.toml."""

    file: Path
    id: str  # 03_im2col_cpu/conv2d/02_implicit_gemm
    words: Mapping[str, Any]
    dtypes: tuple[str, ...]
    defined: tuple[str, ...]  # directions
    written: tuple[str, ...]  # those that are no starter
    calls: tuple[tuple[str, str], ...]  # a function that it calls -> what is to serve

    @property
    def ladder(self) -> str:
        """03_im2col_cpu/conv2d."""
        return self.id.rpartition("/")[0]

    @property
    def operator(self) -> str:
        """conv2d."""
        return self.id.split("/")[1]


class Chosen:
    """The rungs that serve, as parts of what is linked."""

    def __init__(
        self,
        root: Path,
        place: Callable[[Rung], str],
        walk: Callable[[str, str], str],
        without: Collection[str] = (),
    ) -> None:
        """`root` has labs/. `place` gives a rung's object, with % for the dtype, `walk`
        the object of a walk. Rungs `without` are left out.
        """
        self._root, self._place, self._walk = root, place, walk
        self._without = without
        self._parts: dict[str, dict[str, Part]] = {}
        self.rungs: dict[str, Rung] = {}  # all that are linked

    def function(self, target: str, direction: str) -> tuple[Rung, Part]:
        """The rung that serves a direction of a target of lab.toml, and its object.

        Raises Refusal if none does.
        """
        rungs = _meant(self._root, target)
        if found := self._first(rungs, direction):
            return next(r for r in rungs if r.id == found.name), found
        defining = [rung for rung in rungs if direction in rung.defined]
        if not defining:
            raise Refusal(f"no file of {target} defines {direction}")
        for rung in defining:
            if direction in rung.written and rung.id not in self._without:
                self._parts_of(rung)  # says what it lacks
        broken = [rung for rung in defining if rung.id in self._without]
        word = "is written" if not broken else "compiles"
        raise Refusal(f"no file of {target} that computes {direction} {word} yet")

    def _parts_of(self, rung: Rung) -> Mapping[str, Part]:
        """What serves a rung's directions. Raises Refusal if it calls what is not
        written.
        """
        if rung.id not in self._parts:
            calls = {symbol: self._serving(rung, symbol, t) for symbol, t in rung.calls}
            walked = rung.written if "covers" in rung.words else ()
            lower = {d: self._first(_below(self._root, rung), d) for d in walked}
            below = {f"{LOWER}_{d}": part for d, part in lower.items() if part}
            own = Part(rung.id, self._place(rung), rung.operator, rung.written, calls)
            self._parts[rung.id] = served(own, below, self._walk)
            self.rungs[rung.id] = rung
        return self._parts[rung.id]

    def _serving(self, rung: Rung, symbol: str, target: str) -> Part:
        """What a function comes from that a rung calls."""
        others = _meant(self._root, target)
        fits = [r for r in others if r.id < rung.id or r.ladder != rung.ladder]
        fits = [r for r in fits if set(rung.dtypes) <= set(r.dtypes)]
        if found := self._first(fits, symbol.rpartition("_")[2]):
            return found
        raise Refusal(f"{rung.id} calls {symbol}, but {target} is not written yet")

    def _first(self, rungs: list[Rung], direction: str) -> Part | None:
        """What serves a direction: the first of these rungs that can."""
        for rung in rungs:
            if direction in rung.written and rung.id not in self._without:
                try:
                    return self._parts_of(rung)[direction]
                except Refusal:
                    continue
        return None


def targets(lab: Path) -> dict[str, dict[str, str]]:
    """Operator -> set of kernels (cpu, direct, cuda) -> the ladder or rung that
    lab.toml names for it, in the order of lab.toml.
    """
    ladders = _words(lab).get("ladder", {})
    return {operator: words.get("kernels", {}) for operator, words in ladders.items()}


def _meant(root: Path, target: str) -> list[Rung]:
    """The rungs that a name in lab.toml means, the highest first: those of a ladder, or
    a rung and the lower ones.
    """
    ladder = "/".join(target.split("/")[:2])
    return [
        r for r in _ladder(root, ladder) if target in (ladder, r.id) or r.id < target
    ]


@functools.cache
def _ladder(root: Path, ladder: str) -> tuple[Rung, ...]:
    """The rungs of 03_im2col_cpu/conv2d, the highest first, without those that not
    every machine can run.
    """
    lab, operator = ladder.split("/")
    words = _words(root / "labs" / lab)
    usual = words.get("ladder", {}).get(operator, {}).get("dtypes", [])
    rungs = []
    for file in sorted((root / "labs" / ladder).glob("[0-9]*.c*"), reverse=True):
        entry = words.get("rung", {}).get(f"{operator}/{file.stem}", {})
        if not entry.get("needs"):
            rungs.append(_rung(file, f"{ladder}/{file.stem}", entry, usual))
    return tuple(rungs)


def _rung(file: Path, name: str, entry: Mapping[str, Any], usual: list[str]) -> Rung:
    """A file as a rung. Of a ladder's own dtypes, a rung has those that all have that
    it uses: lab.toml says so if it uses another ladder's.
    """
    text, lab = _text(file), name.split("/")[0]
    ladder = name.rpartition("/")[0]
    calls = []
    for alias, target in entry.get("uses", {}).items():
        whole = target if re.match(r"\d\d_", target) else f"{lab}/{target}"
        symbols = [f"{alias}_{direction}" for direction in DIRECTIONS]
        calls += [(s, whole) for s in symbols if re.search(rf"\b{s}\b", text)]
    alone = all(target.startswith(f"{ladder}/") for _, target in calls)
    more = entry.get("dtypes", usual if alone else [])
    bodies = _bodies(text, name.split("/")[1])
    written = tuple(d for d, body in bodies.items() if not _STARTER.search(body))
    dtypes = ("f32", "f64", *more)
    return Rung(file, name, entry, dtypes, tuple(bodies), written, tuple(calls))


def _text(file: Path) -> str:
    """A file, behind the headers of its ladder that it includes."""
    own = file.read_text(encoding="utf-8", errors="replace")
    beside = [file.with_name(name) for name in re.findall(r'#include "(.*)"', own)]
    return "".join([*(_text(one) for one in beside if one.is_file()), own])


def _bodies(text: str, operator: str) -> dict[str, str]:
    """Direction -> the function's text."""
    found = {}
    for direction in DIRECTIONS:
        start = rf"^(?:extern \"C\" )?status_t\s+{operator}_{direction}\([^;{{]*\)\s*{{"
        if match := re.search(rf"{start}.*?^}}", text, re.MULTILINE | re.DOTALL):
            found[direction] = match[0]
    return found


def _below(root: Path, rung: Rung) -> list[Rung]:
    """The lower rungs of its ladder, in the order in which a walk asks them."""
    lower = [r for r in _ladder(root, rung.ladder) if r.id < rung.id]
    lower = [r for r in lower if set(rung.dtypes) <= set(r.dtypes)]
    first = f"{rung.id.split('/')[0]}/{rung.words.get('below', '')}"
    return sorted(lower, key=lambda r: r.id != first)


@functools.cache
def _words(lab: Path) -> dict[str, Any]:
    """A lab.toml."""
    return tomllib.loads((lab / "lab.toml").read_text(encoding="utf-8"))
