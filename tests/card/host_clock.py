# SPDX-License-Identifier: MIT
"""A stopwatch for the pretended card, in the place of gpu_speed.EventClock."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch


class HostClock:
    """Times work of this processor, whose caches nobody flushes."""

    device = torch.device("cpu")

    def time(self, work: Callable[[], object]) -> float:
        """Seconds."""
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    def flush(self) -> float:
        """There is nothing to flush."""
        return 0.0
