# SPDX-License-Identifier: MIT
"""Holds what a measurement found: results.json and the ledger keep these records."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from grader.course.bands import Band, Cost
from grader.verdicts import Verdict

NOISY = 0.05  # half of an interval, above which nothing is said


@dataclass(frozen=True)
class Estimate:
    """A ratio and the interval it lies in, at 95 %."""

    value: float
    low: float
    high: float

    @property
    def noisy(self) -> bool:
        """Too wide to be of use."""
        return not self.half_width <= NOISY

    @property
    def half_width(self) -> float:
        """Half of the interval, as a share of the value."""
        return (self.high - self.low) / (2 * self.value)

    def times(self, factor: float) -> Estimate:
        """The same for a multiple."""
        return Estimate(self.value * factor, self.low * factor, self.high * factor)


@dataclass(frozen=True)
class Speed:
    """What was found out about one direction of one rung."""

    case: str
    direction: str
    verdict: Verdict
    baseline: str
    message: str = ""
    ratio: Estimate | None = None  # PyTorch's time over the student's
    of: str = "pytorch"  # what the points are counted in
    share: Estimate | None = None  # of that
    band: Band | None = None
    rounds: int = 0
    dropped: int = 0
    ms: float | None = None  # of a call, median
    gbs: float | None = None
    intensity: float | None = None  # operations a byte
    gflops: float | None = None  # None where nothing is multiplied and summed
    percent_of_peak: float | None = None
    worst: float = math.nan  # error of the values, as a share of what is allowed
    others: Mapping[str, Estimate] = field(default_factory=dict)  # more ratios
    errors: tuple[float, float] = (math.nan, math.nan)  # of the student, of PyTorch

    @property
    def earned(self) -> float:
        """The share of the speed points: 0 to 1, by the logarithm of the share's upper
        end, so that noise costs nothing.
        """
        if self.verdict is not Verdict.PASS or not self.band or not self.share:
            return 0.0
        return self.band.earned(self.share.high)

    def timed(self, seconds: float, cost: Cost, peak: float) -> Speed:
        """With the seconds of a call; `peak` is in FMA multiply-adds a second."""
        if not seconds > 0:
            return self
        made = replace(
            self,
            ms=1e3 * seconds,
            gbs=1e-9 * cost.bytes / seconds,
            intensity=cost.flops / cost.bytes,
        )
        if not cost.flops:
            return made
        share = 50 * cost.flops / seconds / peak if peak > 0 else None
        rate = 1e-9 * cost.flops / seconds
        return replace(made, gflops=rate, percent_of_peak=share)

    def judged(self, band: Band | None) -> Speed:
        """By a band of today, if that one is for what was timed."""
        same = band and (band.case, band.of) == (self.case, self.of)
        return replace(self, band=band if same else None)
