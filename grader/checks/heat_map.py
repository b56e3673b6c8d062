# SPDX-License-Identifier: MIT
"""Makes a picture of a wrong result: planes of numbers, with the wrong ones marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

SHADES = 5  # in a terminal

Row = tuple[float | None, ...]  # None: NaN or infinity, or never written


@dataclass(frozen=True)
class Plane:
    """A part of a tensor along its last two axes."""

    title: str  # output[0, 1]
    values: tuple[Row, ...]
    wrong: tuple[str, ...] = ()  # a row of "." and "#" for each row
    more: bool = False  # the tensor goes on beyond what is shown


@dataclass(frozen=True)
class HeatMap:
    """What went in, what came, and what was expected, of one case."""

    case: str
    planes: tuple[Plane, ...]
    sizes: str = ""  # shapes and options of the case, in words

    @property
    def is_pale(self) -> bool:
        """Whether what came has the shades of what was expected."""
        drawn = levels(self.planes, SHADES)
        came, right = (rows for p, rows in zip(self.planes, drawn) if p.wrong)
        return came == right

    @property
    def tells(self) -> bool:
        """Whether the shades differ, or some elements are right and others wrong."""
        marks = {mark for plane in self.planes for row in plane.wrong for mark in row}
        return len(marks) > 1 or not self.is_pale

    def entry(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def heat_map(entry: dict[str, Any] | None) -> HeatMap | None:
    """The same as a record."""
    if not entry:
        return None
    planes = tuple(
        Plane(
            p["title"],
            tuple(tuple(row) for row in p["values"]),
            tuple(p["wrong"]),
            p["more"],
        )
        for p in entry["planes"]
    )
    return HeatMap(entry["case"], planes, entry.get("sizes", ""))


def levels(planes: Sequence[Plane], steps: int) -> list[list[list[int | None]]]:
    """Each number's place between the smallest and the largest, from 0 to steps - 1:
    what came and what was expected on one scale, what went in on its own.
    """
    return [
        [[_level(v, _range(planes, plane), steps) for v in row] for row in plane.values]
        for plane in planes
    ]


def _range(planes: Sequence[Plane], of: Plane) -> tuple[float, float]:
    alike = [plane for plane in planes if bool(plane.wrong) is bool(of.wrong)]
    values = [v for p in alike for row in p.values for v in row if v is not None]
    return (min(values), max(values)) if values else (0.0, 0.0)


def _level(value: float | None, ends: tuple[float, float], steps: int) -> int | None:
    if value is None:
        return None
    low, high = ends
    share = (value - low) / (high - low) if high > low else 0.5
    return min(steps - 1, int(share * steps))
