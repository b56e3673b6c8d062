# SPDX-License-Identifier: MIT
"""Finds impossible times: such a time is faster than this machine can be.

A call multiplies at least as often as the best known algorithm (Cost.least), at this
machine's measured peak. It also moves its tensors at least once, at the rate of the
first cache. The limit is half of that time. No right file comes near the limit, because
PyTorch's best takes more than the whole time. Peaks are the best of many samples. They
are measured again before a file is suspected, and the larger ones count.
"""

from __future__ import annotations

from grader.checks.speed.machine import Peaks
from grader.course.bands import Cost

SHARE = 0.5  # of the least time: what is faster is suspected
ATTEMPTS = 3  # to find a higher peak than the one that is known


def least_seconds(need: Cost, peaks: Peaks, threads: int) -> float:
    """What a call takes if nothing is ever waited for."""
    multiplying = need.least / (threads * peaks.fma)
    moving = need.bytes / (threads * peaks.first_cache)
    return max(multiplying, moving)


def implausible(seconds: float, need: Cost, peaks: Peaks, threads: int) -> str:
    """Why a call cannot take so short a time; "" if it can."""
    for _ in range(ATTEMPTS):
        least = least_seconds(need, peaks, threads)
        if seconds >= SHARE * least:
            return ""
        peaks.raise_to_now()
    return (
        f"a call takes {1e3 * seconds:.3g} ms, but this machine needs at least "
        f"{1e3 * least:.3g} ms for {need.least:.3g} multiply-adds and {need.bytes:.3g} "
        "bytes. A person has to check whether the file computes its results"
    )
