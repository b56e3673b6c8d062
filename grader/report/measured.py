# SPDX-License-Identifier: MIT
"""Measured speeds and the machine they were measured on, as records.

A field that is absent, or is no finite number, is None: a report shows a dash there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

RATES = {  # what a share is a share of, in words
    "pytorch": "PyTorch",
    "multiply_add": "scalar multiply-add",
    "fma": "FMA peak",
    "bandwidth": "bandwidth",
}


@dataclass(frozen=True)
class Speed:
    """One case of one file, in one direction."""

    case: str
    direction: str
    verdict: str
    baseline: str
    message: str  # why it is noisy, or was not timed
    of: str  # pytorch, multiply_add, fma or bandwidth
    ms: float | None
    ratio: float | None  # time of the baseline / time of the student
    low: float | None
    high: float | None
    gflops: float | None
    gbs: float | None
    percent_of_peak: float | None
    intensity: float | None  # flops per byte
    share: float | None  # of the rate that `of` names
    share_low: float | None
    share_high: float | None
    floor: float | None
    full: float | None
    points: float | None
    points_of: float | None
    pairs: int | None
    dropped: int | None

    @property
    def rate(self) -> str:
        """What the share is a share of."""
        return RATES.get(self.of, self.of)

    @property
    def noisy(self) -> bool:
        """Measured, but not well enough to count."""
        return self.verdict not in ("", "PASS")


@dataclass(frozen=True)
class Level:
    """The bandwidth of one working set."""

    name: str  # L1, L2, L3, memory
    bytes: float
    gbs: float


@dataclass(frozen=True)
class Machine:
    """What was measured of the machine itself."""

    fma_gflops: float | None
    multiply_add_gflops: float | None
    bandwidth: tuple[Level, ...]
    flags: str
    caches: tuple[tuple[str, float], ...]  # name, bytes
    cores: int | None
    moved: float | None  # largest relative change of the peak during the run


def number(entry: Mapping[str, Any], key: str) -> float | None:
    """A finite number, or None."""
    value = entry.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if math.isfinite(value) else None


def positive(value: float | None) -> bool:
    """Whether there is a number that a logarithm takes."""
    return value is not None and value > 0


def speed(entry: Mapping[str, Any]) -> Speed:
    """A speed entry of results.json."""
    words = ("case", "direction", "verdict", "baseline", "message", "of")
    counts = ("pairs", "dropped")
    values: dict[str, Any] = {word: str(entry.get(word) or "") for word in words}
    for name in Speed.__dataclass_fields__:
        if name not in values:
            values[name] = number(entry, name)
    for name in counts:
        values[name] = None if values[name] is None else int(values[name])
    return Speed(**values)


def machine(entry: Mapping[str, Any] | None) -> Machine | None:
    """environment.machine of results.json, if it is there."""
    if not entry:
        return None
    found = entry.get("caches") or {}
    sizes = [(str(key).upper(), number(found, key)) for key in found]
    caches = tuple((name, size) for name, size in sizes if size)
    levels = []
    for item in entry.get("bandwidth") or ():
        size, gbs = number(item, "bytes"), number(item, "gbs")
        if size and gbs and size > 0 and gbs > 0:
            levels.append(Level(_level(size, caches), size, gbs))
    cores = number(entry, "cores")
    return Machine(
        fma_gflops=number(entry, "fma_gflops"),
        multiply_add_gflops=number(entry, "multiply_add_gflops"),
        bandwidth=tuple(sorted(levels, key=lambda level: level.bytes)),
        flags=str(entry.get("flags") or ""),
        caches=caches,
        cores=None if cores is None else int(cores),
        moved=number(entry, "moved"),
    )


def _level(size: float, caches: tuple[tuple[str, float], ...]) -> str:
    """The smallest cache that holds a working set of this size."""
    for name, bytes_ in sorted(caches, key=lambda cache: cache[1]):
        if size <= bytes_:
            return "L1" if name == "L1D" else name
    return "memory" if caches else shown_bytes(size)


def shown_bytes(size: float) -> str:
    """A size as people read it."""
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.3g} {unit}"
        size /= 1024
    return f"{size:.3g} GiB"
