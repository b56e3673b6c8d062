# SPDX-License-Identifier: MIT
"""Reads the machine that speeds were measured on, and names the rate behind each share.

If a field is absent, or is not a finite number, it is None: a report shows a dash.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from grader.checks.speed.estimate import Speed
from grader.engine.answers.as_json import number
from grader.engine.score import RungResult

RATES = {  # what a share is a share of, in words
    "pytorch": "PyTorch",
    "multiply_add": "scalar multiply-add",
    "fma": "FMA peak",
    "bandwidth": "bandwidth",
}


def rates(timed: Iterable[tuple[RungResult, Speed]]) -> list[str]:
    """What the shares are shares of."""
    found = dict.fromkeys(RATES.get(speed.of, speed.of) for _, speed in timed)
    return [name for name in found if name]


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


def positive(value: float | None) -> bool:
    """Whether there is a number that a logarithm takes."""
    return value is not None and value > 0


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
