# SPDX-License-Identifier: MIT
"""Lists the objects that are linked together, and the new names of their functions.

Each rung defines functions of the same names, for example conv2d_forward. So
before objects are linked, their functions get new names: convlab_part3_forward. A
function that is called from outside gets the name that the caller asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

LOWER, OWN = "lower", "own"  # what a walk calls: the rungs below, and the rung itself
PART = "convlab_part"  # how names of objects begin that are linked in (uses.mk)


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


@dataclass(frozen=True)
class Linked:
    """An object and the new names in it, as pairs (old, new)."""

    file: str  # of its part
    own: tuple[tuple[str, str], ...]  # functions that it defines
    called: tuple[tuple[str, str], ...]  # functions that it calls


def served(
    part: Part, below: Calls, walk_of: Callable[[str, str], str]
) -> dict[str, Part]:
    """What serves a rung's directions: its own object, or the walk from it to a lower
    one. `below` is what the walk calls (lower_forward), `walk_of` gives its object.
    """
    found = dict.fromkeys(part.directions, part)
    for symbol, lower in below.items():
        direction = symbol.removeprefix(f"{LOWER}_")
        both = {f"{OWN}_{direction}": part, symbol: lower}
        walk = walk_of(part.operator, direction)
        found[direction] = Part(part.name, walk, part.operator, (direction,), both)
    return found


class Names:
    """The objects of some functions, each once, and the new names in them."""

    def __init__(self, exported: Mapping[str, tuple[Part, str]]) -> None:
        """`exported`: a new name -> the object and the direction of its function."""
        self.others: dict[str, str] = {}  # one more name -> the name of a function
        self._exported: dict[tuple[Part, str], str] = {}
        for name, function in exported.items():
            first = self._exported.setdefault(function, name)
            if first != name:
                self.others[name] = first
        parts = {_key(one): one for one in _ordered(p for p, _ in exported.values())}
        self._numbers = {key: number for number, key in enumerate(parts)}
        self.linked = [self._of(part) for part in parts.values()]

    def words(self) -> list[str]:
        """What common/uses.mk is told: names of each object, then other names."""
        lines = [
            f"{','.join(map('='.join, (*one.own, *one.called)))}@{one.file}"
            for one in self.linked
        ]
        return [*lines, *map("=".join, self.others.items())]

    def _of(self, part: Part) -> Linked:
        own = ((f"{part.operator}_{d}", self._new(part, d)) for d in part.directions)
        return Linked(part.file, tuple(own), tuple(self._called(part.calls)))

    def _called(self, calls: Calls) -> list[tuple[str, str]]:
        """The functions that a rung calls, and their names here: each has its own."""
        names: dict[str, str] = {}  # new -> old
        for symbol, part in calls.items():
            usual = new = self._new(part, symbol.rpartition("_")[2])
            while new in names:
                new += "_"
                self.others[new] = usual
            names[new] = symbol
        return [(old, new) for new, old in names.items()]

    def _new(self, part: Part, direction: str) -> str:
        usual = f"{PART}{self._numbers[_key(part)]}_{direction}"
        return self._exported.get((part, direction), usual)


def _key(part: Part) -> tuple[str, str]:
    """What tells an object from others: walks of two rungs have one file."""
    return part.name, part.file


def _ordered(parts: Iterable[Part]) -> list[Part]:
    """All objects that are called, also by one another; an object stands before those
    that it calls, as the linker wants it of archives.
    """
    found: list[Part] = []

    def visit(part: Part) -> None:
        if part not in found:
            for other in part.calls.values():
                visit(other)
            found.append(part)

    for part in parts:
        visit(part)
    return found[::-1]
