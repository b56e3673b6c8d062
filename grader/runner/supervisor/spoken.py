# SPDX-License-Identifier: MIT
"""Reads what a worker writes to its standard output and error, and keeps a part.

It reads at once, so that the worker never waits for a reader. Nothing in it is trusted,
because student code may write anything there. A verdict that follows from it can only
cost points.
"""

from __future__ import annotations

import os
import select
import threading

KEPT = 64 * 1024  # bytes that are kept, head and tail
NEW = 8 * 1024  # and those of one call
ROUNDS = 4  # one read takes all that a pipe holds


class Spoken:
    """The end of a pipe that is read by a thread of its own, to the end."""

    def __init__(self, read: int) -> None:
        self._read = read
        self._head, self._tail = b"", b""
        self._new, self._dropped = b"", 0  # since it was last taken
        self._reading = threading.Lock()
        self._open = True
        os.set_blocking(read, False)
        self._thread = threading.Thread(target=self._collect, daemon=True)
        self._thread.start()

    @property
    def kept(self) -> bytes:
        """The first and last of everything."""
        with self._reading:
            return self._head + self._tail

    def take(self) -> tuple[bytes, int]:
        """What has come since the last time, its beginning, and how many bytes more.
        What was written before a call returned is among it.
        """
        with self._reading:
            for _ in range(ROUNDS):  # who never stops writing is not waited for
                if not (self._open and self._chunk()):
                    break
            taken = self._new, self._dropped
            self._new, self._dropped = b"", 0
        return taken

    def join(self, timeout: float) -> None:
        """Wait until nobody can write any more."""
        self._thread.join(timeout)

    def _collect(self) -> None:
        ready = select.poll()
        ready.register(self._read, select.POLLIN)
        while True:
            ready.poll()
            with self._reading:
                self._chunk()
                if not self._open:
                    break
        os.close(self._read)

    def _chunk(self) -> bool:
        """Read what is there; whether there was something."""
        try:
            chunk = os.read(self._read, 1 << 20)
        except BlockingIOError:  # somebody else has just read it
            return False
        self._open = bool(chunk)
        room = KEPT // 2 - len(self._head)
        self._head += chunk[:room]
        self._tail = (self._tail + chunk[max(room, 0) :])[-KEPT // 2 :]
        more = chunk[: NEW - len(self._new)]
        self._new += more
        self._dropped += len(chunk) - len(more)
        return self._open
