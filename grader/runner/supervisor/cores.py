# SPDX-License-Identifier: MIT
"""Chooses the core that a supervisor and its workers share."""

from __future__ import annotations

import functools
import os


@functools.cache
def given() -> list[int]:
    """The cores we were given, before we chose among them."""
    return sorted(os.sched_getaffinity(0))


def cpu() -> int:
    """The core that supervisor and workers share: a wake-up across cores costs more
    than most calls, and the two never run at the same time.
    """
    return _core if _core is not None else given()[os.getpid() % len(given())]


_core: int | None = None  # that somebody has chosen for this process
_threads = 1  # that the last `pin` was for


def settle(core: int) -> None:
    """This process has this core; others have the others."""
    global _core
    _core = core


def pin(threads: int = 0) -> None:
    """Move this process to that core, or to as many as there are threads (0: as many as
    last time); workers started from now on inherit them.
    """
    global _threads
    _threads = threads or _threads
    os.sched_setaffinity(0, {cpu()} if _threads == 1 else set(given()[:_threads]))
