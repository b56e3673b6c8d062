# SPDX-License-Identifier: MIT
"""Holds signals back while a block runs, so that nothing is left half started."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """A signal that arrives inside is answered at the block's end, by its own handler.

    Programs started inside do not inherit anything of this. A thread other than the
    main one is not interrupted in Python, and nothing is done for it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []

    def hold(number: int, frame: FrameType | None) -> None:
        arrived.append(number)

    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    answered = {n: handler for n, handler in handlers.items() if callable(handler)}
    for number in answered:
        signal.signal(number, hold)
    try:
        yield
    finally:
        for number, handler in answered.items():
            signal.signal(number, handler)
        for late in arrived:
            signal.raise_signal(late)
