# SPDX-License-Identifier: MIT
"""Reads single keys from a terminal, without waiting for the end of a line."""

from __future__ import annotations

import os
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager

END = "\x04"  # the terminal is gone
ESCAPE = "\x1b"


class Keyboard:
    """The keys of standard input, a terminal. Use as a context manager."""

    def __init__(self) -> None:
        self.number = sys.stdin.fileno()
        self._before = termios.tcgetattr(self.number)

    def __enter__(self) -> Keyboard:
        tty.setcbreak(self.number)
        return self

    def __exit__(self, *_: object) -> None:
        termios.tcsetattr(self.number, termios.TCSADRAIN, self._before)

    def take(self) -> str:
        """The keys that were pressed; arrows and the like are left out."""
        try:
            data = os.read(self.number, 256)
        except OSError:
            return END
        if not data:
            return END
        keys = data.decode(errors="ignore")
        return "" if keys.startswith(ESCAPE) and keys != ESCAPE else keys

    @contextmanager
    def lent(self) -> Iterator[None]:
        """The terminal as it was, for another program."""
        termios.tcsetattr(self.number, termios.TCSADRAIN, self._before)
        try:
            yield
        finally:
            tty.setcbreak(self.number)
