# SPDX-License-Identifier: MIT
"""Turns a share of some rate into a share of the speed points: a band.

In lab.toml, beside a ladder's points:

    speed = { points = 2, of = "multiply_add",
              forward = { case = "small", floor = 0.05, full = 0.3 }, backward = ... }

`of` names the rate: PyTorch's speed, or a rate of this machine, measured in the same
run. Below `floor` there are no points, and at `full` or above there are all. Between
them points grow with the logarithm, so each doubling gives the same. The counted work
(Cost) is the work of one call. It does not depend on how the call is written.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from signatures import DIRECTIONS

from grader.errors import GraderError

OF = ("pytorch", "multiply_add", "fma", "bandwidth")
STEP = 0.05  # earned shares are rounded to this, so that a second run says the same
_WORDS = {"points", "of", "forward", "backward"}
_BAND_WORDS = {"case", "floor", "full"}


@dataclass(frozen=True)
class Cost:
    """What one call has to do."""

    work: float  # multiply-adds; elements where nothing is multiplied and summed
    flops: float  # 0 where the work is elements
    bytes: float  # of all tensors in and out, each once
    least: float = 0.0  # multiply-adds of the best known algorithm; 0: bytes alone tell


@dataclass(frozen=True)
class Band:
    """What one direction of a ladder has to reach."""

    case: str  # of the operator's speed cases
    floor: float
    full: float
    of: str = "pytorch"
    worth: float = 0.0  # points

    def earned(self, share: float) -> float:
        """0 to 1."""
        if not share > 0:
            return 0.0
        part = math.log(share / self.floor) / math.log(self.full / self.floor)
        return min(1.0, max(0.0, round(part / STEP) * STEP))


@dataclass(frozen=True)
class SpeedTask:
    """What speed is worth in a ladder."""

    points: float  # of the ladder's points
    bands: Mapping[str, Band]  # by direction; lab 04 has none before a GPU was there

    def points_of(self, direction: str) -> float:
        """Directions that are timed share the points evenly."""
        if not self.bands:
            return self.points / len(DIRECTIONS)
        return self.points / len(self.bands) if direction in self.bands else 0.0


def parse(
    where: str, entry: Any, points: float, *, without_bands: bool = False
) -> SpeedTask | None:
    """The speed words of a ladder's entry; None if it has none. `without_bands`: points
    that nothing can earn yet may stand alone.

    Raises GraderError, which begins with `where`.
    """
    if entry is None:
        return None
    if not isinstance(entry, dict):
        raise GraderError(
            f"{where}: 'speed' is {entry!r}, expected a table like "
            "{ points = 2, forward = ... }"
        )
    _refuse_unknown(where, "speed", entry, _WORDS)
    of = entry.get("of", "pytorch")
    if of not in OF:
        raise GraderError(
            f"{where}: 'speed.of' is {of!r}, expected one of {', '.join(OF)}"
        )
    worth = entry.get("points", 0)
    if not isinstance(worth, int | float) or not 0 < worth <= points:
        raise GraderError(
            f"{where}: 'speed.points' is {worth!r}, expected more than 0 and at most "
            f"the ladder's {points:g} points"
        )
    bands = {
        direction: _band(where, direction, entry[direction], of)
        for direction in DIRECTIONS
        if direction in entry
    }
    if not bands and not without_bands:
        raise GraderError(
            f"{where}: 'speed' lacks a table for 'forward', for 'backward' or for both"
        )
    made = SpeedTask(float(worth), bands)
    each = {d: replace(band, worth=made.points_of(d)) for d, band in bands.items()}
    return replace(made, bands=each)


def _band(where: str, direction: str, entry: Mapping[str, Any], of: str) -> Band:
    name = f"speed.{direction}"
    _refuse_unknown(where, name, entry, _BAND_WORDS)
    missing = sorted(_BAND_WORDS - set(entry))
    if missing:
        raise GraderError(f"{where}: {name!r} lacks the key {missing[0]!r}")
    floor, full = entry["floor"], entry["full"]
    if not 0 < floor < full:
        raise GraderError(
            f"{where}: {name!r} has floor = {floor} and full = {full}, expected "
            "0 < floor < full"
        )
    return Band(str(entry["case"]), float(floor), float(full), of)


def _refuse_unknown(
    where: str, name: str, entry: Mapping[str, Any], words: set[str]
) -> None:
    unknown = sorted(set(entry) - words)
    if unknown:
        raise GraderError(
            f"{where}: {name!r} has an unknown key {unknown[0]!r}, expected some of "
            f"{', '.join(sorted(words))}"
        )
