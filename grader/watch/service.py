# SPDX-License-Identifier: MIT
"""Grades for `make watch` in one process, where PyTorch and a Python worker stay
loaded.

It answers one request after the other over a pipe. After the next save the running
request is pointless. So an `Unwanted` in the pipe ends it, and SIGUSR1 makes the
process read the pipe at once. An import is not interrupted, because half a module would
stay.

    python -m grader.watch.service DESCRIPTOR
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from multiprocessing.connection import Connection
from types import FrameType

from grader.checks.check_result import CheckResult
from grader.course import tasks
from grader.course.rungs import Rung, Selection
from grader.engine import grade as grading
from grader.engine import merge, results
from grader.engine.answers.ledger import Ledger
from grader.engine.checking.rung_checker import Answer, Checker
from grader.engine.grading_step import GradingStep
from grader.errors import GraderError
from grader.report import html
from grader.runner.supervisor import orphans
from grader.runner.supervisor.session import Worker
from grader.toolchain import cusim, given, sandbox
from grader.toolchain.extension.package import Package
from grader.toolchain.make import build_tools
from grader.watch.messages import (
    Abandoned,
    Asked,
    Ended,
    Graded,
    Heard,
    Ready,
    Refused,
    Step,
    Told,
    Unwanted,
)

_PR_SET_PDEATHSIG = 1


class Abandon(BaseException):
    """The request that runs is not wanted any more."""


class Service:
    """Answers requests until its pipe is closed."""

    def __init__(self, pipe: Connection) -> None:
        self.pipe = pipe
        self.number = 0  # of the request that runs
        self.rung = ""  # that is asked now
        self.running = False

    def run(self) -> None:
        """Import PyTorch, then answer."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's process ends us
        signal.signal(signal.SIGUSR1, self._abandon)
        import torch

        torch.set_num_threads(1)
        orphans.end()
        try:
            sandbox.level()
            build_tools()
            _Checker.spare = Worker.for_python()
        except (GraderError, OSError) as error:
            self._tell(Refused(0, str(error)))
            return
        with contextlib.suppress(EOFError, OSError):
            self._tell(Ready(0))
            while True:
                asked = self.pipe.recv()
                if isinstance(asked, Asked):  # what is unwanted may have ended
                    self._answer(asked)

    def _abandon(self, signum: int, frame: FrameType | None) -> None:
        if self.running and not _imports(frame):
            self.running = False
            raise Abandon

    def _if_wanted(self) -> None:
        """Raises Abandon if the request was unwanted before it began, or while a module
        was imported.
        """
        while self.pipe.poll():
            if self.pipe.recv() == Unwanted(self.number):
                self.running = False
                raise Abandon

    def _tell(self, message: Told) -> None:
        self.pipe.send(message)

    def _answer(self, asked: Asked) -> None:
        """One request, to its last word."""
        self.number = asked.number
        try:
            self.running = True
            self._if_wanted()
            self._grade(asked)
            self.running = False
        except Abandon:
            self._tell(Abandoned(asked.number))
        except (GraderError, OSError) as error:
            self.running = False
            self._tell(Refused(asked.number, str(error)))

    def _grade(self, asked: Asked) -> None:
        start = time.monotonic()
        tasks.all_tasks.cache_clear()  # a file may be new, or gone
        selection = tasks.select(asked.wanted)
        _Checker.service = self
        self._cusim(asked, selection)
        with (
            results.lock(),
            Ledger(results.folder()) as ledger,
            _Grader(
                selection,
                seed=grading.new_seed(),
                progress=self._progress,
                ledger=ledger,
                fresh=asked.fresh,
            ) as grader,
        ):
            found = grader.run()
            seed, peaks = grader.seed, grader.race.as_json()
            whole = merge.merged(found, seed, peaks, ledger)
            results.set_aside()
            results.write(whole)
        with contextlib.suppress(GraderError):  # no jinja2: there is no page
            html.write(whole)
        points = {task.task.id: task.points for task in whole.tasks}
        seconds = time.monotonic() - start
        self._tell(Graded(asked.number, tuple(found), points, seconds))

    def _cusim(self, asked: Asked, selection: Selection) -> None:
        """Build what runs CUDA on the processor, once, and say so: it takes a minute
        where it has not been built.
        """
        rungs = [r for t in selection.tasks for r in t.rungs if r.id in selection.rungs]
        for rung in rungs:
            if rung.file.suffix == ".cu" and not given.is_untouched(rung):
                words = "building cusim, once (about a minute)"
                self._tell(Step(asked.number, rung.id, words))
                cusim.build_tools()
                return

    def _progress(self, now: GradingStep) -> None:
        self._if_wanted()
        if now.ended:
            self._tell(Ended(self.number, now.ended))
            return
        self.rung = now.rung
        self._tell(Step(self.number, now.rung, now.check))

    def on_results(self, checks: list[CheckResult]) -> None:
        """Answers about the rung that is asked now."""
        if checks:
            self._tell(Heard(self.number, self.rung, tuple(checks)))


def _imports(frame: FrameType | None) -> bool:
    """Whether a module is being imported."""
    while frame:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


class _Checker(Checker):
    """Passes answers on as they come, and has a Python worker from before."""

    service: Service
    spare: Worker | None = None

    def on_results(self, rung: Rung, results: list[CheckResult]) -> None:
        """Tell them, but not of an exhibit: its case decides what may be told."""
        if not rung.exhibit:
            self.service.on_results(results)

    def answer(self, name: str, *, warm: bool) -> Answer:
        """As ever, but a file in Python will be saved again: its next worker imports
        torch while this one answers.
        """
        return super().answer(name, warm=True)

    def package(self, name: str) -> Package:
        """Build an operator of lab 05, and start the worker that will load it. The one
        that waits for a file of lab 01 goes: the gates need its memory.
        """
        if _Checker.spare is not None:
            _Checker.spare.end()
            _Checker.spare = None
        self.packages.warm_up(self.rungs[name])
        return super().package(name)

    def warm_up(self) -> None:
        """Take the one that has waited, and start the next."""
        if self._spare is None and _Checker.spare is not None:
            self._spare, _Checker.spare = _Checker.spare, None
        super().warm_up()

    def close(self) -> None:
        """Keep a worker for the next request."""
        if self._spare is not None:
            _Checker.spare, self._spare = self._spare, None
        super().close()


class _Grader(grading.Grader):
    asks = _Checker


def main() -> None:
    """Serve the pipe that was handed over, and end with the terminal's process."""
    # the terminal belongs to the other process
    silent = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(silent, number)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    Service(Connection(int(sys.argv[1]))).run()
    os._exit(0)


if __name__ == "__main__":
    main()
