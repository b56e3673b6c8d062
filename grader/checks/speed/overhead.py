# SPDX-License-Identifier: MIT
"""What a wake of a worker costs by itself: measured beside every sample, and taken off.

Waking and stopping a process takes 10 to 25 microseconds of its time, which is not the
student's. A worker of our own, which does nothing, is woken in the same way; student
code has no part in it, and what it tells is at most half of a sample.
"""

from __future__ import annotations

import statistics
from collections import deque

import torch

from grader import operators
from grader.runner.supervisor.call import Call, Output, Placement, Run
from grader.runner.supervisor.session import Outcome, Worker, tools

REMEMBERED = 9  # wakes whose median counts


class Overhead:
    """A worker that does nothing. Close it when done."""

    def __init__(self) -> None:
        library = tools() / "nothing.so"
        number = operators.number("gelu")
        gelu = operators.get("gelu").signature
        self._worker = Worker.for_library(library, library, number)
        self._call = Call(
            number,
            Run.FORWARD | Run.TIMED,
            [torch.zeros(1)],
            [Output((1,), torch.float32)],
            options=gelu.pack({}),
            placement=Placement.ALIGN,
            deadline=10.0,
        )
        self._seen: deque[float] = deque(maxlen=REMEMBERED)
        if self._worker.wait_ready() is not Outcome.RETURNED:
            self.close()

    def seconds(self) -> float:
        """One more wake; the median of the last ones, 0 if they cannot be timed."""
        if self._worker.run(self._call) is Outcome.RETURNED:
            request = self._call.request
            own = request.wall_ns - request.own_ns - request.lost_ns
            self._seen.append(max(0, own) * 1e-9)
        return statistics.median(self._seen) if self._seen else 0.0

    def close(self) -> None:
        """End the worker."""
        self._worker.end()
