# SPDX-License-Identifier: MIT
"""Measures the peaks of this machine: the highest rates that it can reach.

A report shows them beside every speed.
"""

from __future__ import annotations

import ctypes
import functools
import os
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from grader import working
from grader.checks.speed import timing
from grader.checks.speed.overhead import Overhead
from grader.closing import Closing
from grader.runner.supervisor.session import ROOT, tools
from grader.toolchain.make import compiler

REPEATS = {"multiply_add": 60_000, "fma": 20_000}  # 0.1 to 0.3 ms
SAMPLES = 25
LARGEST = 256 << 20  # bytes of the working set that stands for memory
MOVED = 0.05  # a peak that changes more is told to the reader

# of mallopt(3), by the GNU C library's numbers
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4


@functools.cache
def _rates() -> ctypes.CDLL:
    library = ctypes.CDLL(str(tools() / "librates.so"))
    pointer = ctypes.c_void_p
    library.rates_multiply_add.argtypes = library.rates_fma.argtypes = [ctypes.c_int64]
    library.rates_triad.argtypes = [*[pointer] * 3, *[ctypes.c_int64] * 2]
    for name in ("rates_multiply_add", "rates_fma", "rates_triad"):
        getattr(library, name).restype = ctypes.c_int64
    return library


def keep_memory() -> None:
    """Let this process keep what it frees, so that PyTorch pays for no page twice.

    By default the C library maps large blocks anew for every output: most of the time
    of a large add is then spent on the pages it writes to.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return
    mallopt(M_MMAP_MAX, 0)
    mallopt(M_TRIM_THRESHOLD, (1 << 31) - 1)
    mallopt(M_TOP_PAD, 64 << 20)


class Rate:
    """One of this machine's rates as a side of a comparison: seconds for one of it."""

    def __init__(self, name: str) -> None:
        self._function = getattr(_rates(), f"rates_{name}")
        self._repeats = REPEATS[name]
        self._watch = timing.Stopwatch()

    def prepare(self) -> None:
        """Nothing to prepare."""

    def sample(self) -> timing.Sample:
        """Seconds for one multiply-add (of one element)."""
        done = 0

        def work() -> None:
            nonlocal done
            done = self._function(self._repeats)

        found = self._watch.time(work)
        return timing.Sample(found.seconds / done, found.clean)


@working.on("measure the processor's peak")
def rate(name: str) -> float:
    """The best of some samples: multiply-adds a second."""
    side = Rate(name)
    return 1 / min(side.sample().seconds for _ in range(SAMPLES))


@working.on("measure the bandwidth of caches and memory")
def bandwidth(bytes_wanted: int) -> float:
    """Bytes a second of a triad over a working set of this size; the best of some."""
    count = max(64, bytes_wanted // 12)
    arrays = [np.full(count + 16, 0.5, np.float32) for _ in range(3)]
    addresses = [-(-a.ctypes.data // 64) * 64 for a in arrays]  # whole cache lines
    again = max(1, (2 << 20) // bytes_wanted)
    best = float("inf")
    end = time.perf_counter() + 0.1
    for _ in range(SAMPLES):
        start = time.perf_counter()
        moved = _rates().rates_triad(*addresses, count, again)
        best = min(best, time.perf_counter() - start)
        if time.perf_counter() > end:
            break
    return float(moved / best)


def caches() -> dict[str, int]:
    """Bytes of the caches of the first core, by name; what the kernel does not tell is
    left out.
    """
    found = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        kind = (index / "type").read_text().strip()
        if kind == "Instruction":
            continue
        level = (index / "level").read_text().strip()
        size = (index / "size").read_text().strip()
        name = f"l{level}d" if kind == "Data" else f"l{level}"
        found[name] = int(size.rstrip("K")) * 1024
    return found


def _working_sets() -> list[int]:
    """Half of each cache, and what fits none."""
    sizes = {"l1d": 32 << 10, "l2": 512 << 10, "l3": 8 << 20} | caches()
    inner = [sizes["l1d"] // 2, sizes["l2"] // 2, min(sizes["l3"] // 2, LARGEST // 8)]
    return [*inner, min(LARGEST, max(64 << 20, 4 * sizes["l3"]))]


def shaken(peaks: dict[str, Any] | None) -> str:
    """A sentence if the peak (of as_json) changed while others were timed."""
    if not peaks or peaks["moved"] <= MOVED:
        return ""
    return (
        f"the peak speed of this machine changed by {100 * peaks['moved']:.0f} % "
        "during the run. Other programs were busy, or the processor changed its clock "
        "rate. Do not trust the times"
    )


def flags() -> str:
    """The compiler flags of a rung."""
    command = ["make", "-s", "-f", "common/rung.mk", "RUNG=labs/none.c", "flags"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    done = subprocess.run(
        command, cwd=ROOT, env={**environment, "CC": compiler()}, capture_output=True
    )
    return done.stdout.decode(errors="replace").strip().replace(" -Icommon/", "")


@dataclass
class Peaks(Closing):
    """This machine's peaks, taken when the first speed is measured and again at the
    end.
    """

    fma: float = field(default_factory=lambda: rate("fma"))  # multiply-adds a second
    multiply_add: float = field(default_factory=lambda: rate("multiply_add"))
    bandwidth: list[tuple[int, float]] = field(
        default_factory=lambda: [(size, bandwidth(size)) for size in _working_sets()]
    )

    overhead: Overhead = field(default_factory=Overhead)

    @property
    def first_cache(self) -> float:
        """Bytes a second of the smallest working set, which fits the first cache."""
        return self.bandwidth[0][1]

    def raise_to_now(self) -> None:
        """Measure what a ceiling rests on again; what is higher than before counts."""
        self.fma = max(self.fma, rate("fma"))
        size, earlier = self.bandwidth[0]
        self.bandwidth[0] = size, max(earlier, bandwidth(size))

    def close(self) -> None:
        """End what was started to measure."""
        self.overhead.close()

    def moved(self) -> float:
        """How far the peak is now from what it was, as a share of it."""
        return abs(rate("fma") / self.fma - 1)

    def as_json(self) -> dict[str, Any]:
        """For results.json. A multiply-add counts as two operations."""
        return {
            "fma_gflops": 2e-9 * self.fma,
            "multiply_add_gflops": 2e-9 * self.multiply_add,
            "bandwidth": [
                {"bytes": size, "gbs": 1e-9 * rate} for size, rate in self.bandwidth
            ],
            "flags": flags(),
            "caches": caches(),
            "cores": os.cpu_count() or 1,
            "moved": self.moved(),
        }
