# SPDX-License-Identifier: MIT
"""The processes that grade: one a core, and a new one for each that dies.

slurm.py has the processes on the nodes of a cluster.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

from grader.closing import Closing
from grader.course.foreign import short
from grader.runner.supervisor import cores

PATIENCE = 15.0  # seconds for a process to put its job back
LONGEST = 300  # characters of what one said last


class Crew(Closing):
    """So many processes of one command. Close it to end them."""

    poll = 0.2  # seconds between two looks at the results

    def __init__(self, command: Sequence[str], logs: Path) -> None:
        self._command, self._logs = list(command), logs
        logs.mkdir(parents=True, exist_ok=True)
        for log in logs.glob("*.log"):
            log.unlink()

    @abstractmethod
    def tend(self) -> int:
        """Start a new process for each that was killed or failed: how many these are.
        One that ends by itself has found nothing more to do.
        """

    def last_words(self) -> str:
        """What one of them has said at its end."""
        for log in sorted(self._logs.glob("*.log")):
            if lines := log.read_text(errors="replace").strip().splitlines():
                return short(lines[-1], LONGEST)
        return "nothing"


class LocalCrew(Crew):
    """Processes of this machine."""

    def __init__(
        self, command: Sequence[str], place: Mapping[str, str], logs: Path, count: int
    ) -> None:
        super().__init__(command, logs)
        self._place = dict(place)
        self._running = {n: self._start(n) for n in range(count)}

    def tend(self) -> int:
        ended = 0
        for number, process in list(self._running.items()):
            if (status := process.poll()) is None:
                continue
            _kill(process)  # what it had started
            if status:
                ended += 1
                self._running[number] = self._start(number)
        return ended

    def close(self) -> None:
        """Ask each to end, also one that is stopped; and wait not too long."""
        for process in self._running.values():
            if process.poll() is None:
                process.terminate()
                process.send_signal(signal.SIGCONT)
        for process in self._running.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE)
            _kill(process)
            process.wait()

    def _start(self, number: int) -> subprocess.Popen[bytes]:
        """One process on its core. It has a group of its own: Ctrl-C is for us."""
        core = cores.given()[number % len(cores.given())]
        with (self._logs / f"{number}.log").open("wb") as log:
            return subprocess.Popen(
                ["taskset", "-c", str(core), *self._command],
                env={**os.environ, **self._place},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
