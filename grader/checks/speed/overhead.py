# SPDX-License-Identifier: MIT
"""Measures how long it takes to wake a worker, to subtract it from every sample.

A process needs 10 to 25 microseconds to wake and to stop. This time is not the
student's. So our own worker, which does nothing, is woken in the same way. Student code
does not run in it. At most half of a sample is subtracted.
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
