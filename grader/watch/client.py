# SPDX-License-Identifier: MIT
"""Talks to the process that grades: the terminal sends requests and gets messages.

If the process ends or does not obey, only the running request is lost. The next request
gets a new process.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from multiprocessing import Pipe
from multiprocessing.connection import Connection

from grader.closing import Closing
from grader.course.rungs import ROOT
from grader.watch.messages import Asked, Told, Unwanted

OBEYS = 5.0  # seconds after which one that was told to abandon is killed


class Client(Closing):
    """Starts the process at once: PyTorch is there when the first file is saved."""

    def __init__(self) -> None:
        self.number = 0  # of the last request
        self.busy = False  # it has not ended
        self._fresh, self._next = False, ""
        self._waiting = False  # for a request that is to be abandoned
        self._told_at = 0.0
        self._started = False  # it has said something: its handler of SIGUSR1 is there
        self._start()

    def close(self) -> None:
        """End the process and what it has started."""
        with contextlib.suppress(OSError):
            self.pipe.close()
        try:
            self.process.wait(timeout=0.2 if not self.busy else 0)
        except subprocess.TimeoutExpired:
            self.process.kill()  # its workers die with it
            self.process.wait()

    def ask(self, wanted: str, *, fresh: bool = False) -> None:
        """Grade this in place of what is being graded."""
        if self.busy:
            self._next, self._fresh = wanted, fresh
            self.abandon()
            self._waiting = True
            return
        self.number += 1
        self.busy, self._waiting = True, False
        try:
            self.pipe.send(Asked(self.number, wanted, fresh))
        except OSError:
            self._again()
            self.pipe.send(Asked(self.number, wanted, fresh))

    def abandon(self) -> None:
        """Have the request that runs, or waits for PyTorch, end."""
        if self.busy and not self._told_at:
            self._told_at = time.monotonic()
            with contextlib.suppress(OSError):
                self.pipe.send(Unwanted(self.number))
            if self._started:
                with contextlib.suppress(ProcessLookupError):
                    self.process.send_signal(signal.SIGUSR1)

    def late(self) -> bool:
        """Whether it does not obey: then it was replaced. One that is still importing
        PyTorch will read the word when it is done.
        """
        if not (self._started and self._told_at):
            return False
        if time.monotonic() - self._told_at < OBEYS:
            return False
        self._again()
        self._over()
        return True

    def receive(self) -> Told | None:
        """The next message; None if the process has ended: a new one was started."""
        try:
            message: Told = self.pipe.recv()
        except (EOFError, OSError):
            self._again()
            self._over()
            return None
        if not self._started:
            self._started = True
            self._told_at = time.monotonic() if self._told_at else 0.0
        return message

    def ended(self, message: Told) -> None:
        """The request that runs has had its last word."""
        if message.number == self.number:
            self._over()

    def _over(self) -> None:
        self.busy, self._told_at = False, 0.0
        if self._waiting:
            self.ask(self._next, fresh=self._fresh)

    def _again(self) -> None:
        with contextlib.suppress(OSError):
            self.pipe.close()
        self.process.kill()
        self.process.wait()
        self._start()

    def _start(self) -> None:
        mine, theirs = Pipe()
        self._started = False
        self.pipe: Connection = mine
        command = [sys.executable, "-m", "grader.watch.service", str(theirs.fileno())]
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            pass_fds=[theirs.fileno()],
            start_new_session=True,  # a key like ^C is for the terminal's process
        )
        theirs.close()
