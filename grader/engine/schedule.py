# SPDX-License-Identifier: MIT
"""Runs jobs on all cores: one process for each core, without more threads.

A job is sent to a process. There it runs, with a worker from an earlier job if there is
one. A job may run as soon as it is added. Its owner gets the answer and may add other
jobs. With one slot everything runs in this process. If a process ends, only its job is
lost.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import signal
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar, Protocol

from grader import working
from grader.closing import Closing
from grader.errors import of_machine
from grader.runner.supervisor import cores

GIB_A_JOB = 2.5  # of free memory: torch, a student's process and its sanitizer
FORK = multiprocessing.get_context("fork")  # torch is imported once, before
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Job(ABC):
    """What is done in whichever process."""

    name: str  # for people
    ahead: ClassVar[float] = 0.0  # more weight: others wait for it
    group: ClassVar[str] = ""  # of these no two run at the same time

    @abstractmethod
    def run(self, worker: Any, now: Any) -> Any:
        """Do it, with what its owner says when it starts."""


class Owner(Protocol):
    """Who adds jobs, and does what follows of them."""

    def now(self) -> Any: ...  # what a job is told when it starts
    def say(self, name: str, words: str) -> None: ...  # it tells while it runs

    def show(self, name: str, words: str) -> None: ...  # a step within what it told
    def came(self, job: Job, answer: Any) -> None: ...
    def lost(self, job: Job, sentence: str) -> None: ...  # in place of an answer


def slots() -> int:
    """How many jobs run side by side: as many as there are cores and memory."""
    return max(1, min(len(cores.given()), int(_free_gib() / GIB_A_JOB)))


def _free_gib() -> float:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return GIB_A_JOB
    free = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(free[0]) / (1 << 20) if free else GIB_A_JOB


@dataclass
class _Process:
    """One process and what it does now."""

    process: BaseProcess
    pipe: Connection
    core: int
    job: Job | None = None
    told: tuple[str, str] | None = None  # of this job, last: its name and what it does


@dataclass
class Schedule:
    """Jobs that wait and jobs that run. Close it when done."""

    owner: Owner
    worker: Closing  # does the jobs; each process closes its own
    ranks: dict[str, float]  # name -> weight: the heaviest job starts first
    waiting: list[Job] = field(default_factory=list)
    _processes: list[_Process] = field(default_factory=list)

    def add(self, job: Job) -> None:
        """Run this as soon as a slot is free."""
        self.waiting.append(job)

    def run(self, slots: int) -> None:
        """Until nothing waits and nothing runs."""
        while self.waiting or any(p.job for p in self._processes):
            if slots == 1:
                job = self._next(set())
                assert job
                self._came(job, *_answer(self.worker, job, self.owner.now()))
            else:
                self._start(slots)
                self._listen()

    def close(self) -> None:
        """End all processes, and what they have started."""
        for one in self._processes:
            with contextlib.suppress(OSError):
                one.pipe.send(None)
            if one.job:
                one.process.terminate()  # it ends its workers
        for one in self._processes:
            one.process.join(timeout=5)
            if one.process.is_alive():
                one.process.kill()
                one.process.join()
            one.pipe.close()
        self._processes = []

    # ---- starting --------------------------------------------------------------------

    def _next(self, groups: set[str]) -> Job | None:
        """The heaviest job that may start; the first of equals."""
        free = [job for job in self.waiting if job.group not in groups]
        if not free:
            return None
        chosen = max(free, key=lambda job: self.ranks.get(job.name, 0.0) + job.ahead)
        self.waiting.remove(chosen)
        return chosen

    def _start(self, slots: int) -> None:
        """Give every idle process a job, and make processes while slots are free."""
        while True:
            idle = next((p for p in self._processes if p.job is None), None)
            if idle is None and len(self._processes) >= slots:
                return
            groups = {p.job.group for p in self._processes if p.job and p.job.group}
            job = self._next(groups)
            if job is None:
                return
            process = idle or self._fork()
            process.job = job
            try:
                process.pipe.send((job, self.owner.now()))
            except OSError:
                continue  # it has ended: _listen finds out

    def _fork(self) -> _Process:
        taken = {p.core for p in self._processes}
        free = [core for core in cores.given() if core not in taken]
        core = (free or cores.given())[0]  # more slots than cores
        here, there = FORK.Pipe()
        words = there, self.worker, core
        process = FORK.Process(target=_work, args=words, daemon=False)
        process.start()
        there.close()
        made = _Process(process, here, core)
        self._processes.append(made)
        return made

    # ---- listening -------------------------------------------------------------------

    def _listen(self) -> None:
        """Wait until a job says something, and do what follows."""
        busy = {p.pipe: p for p in self._processes if p.job}
        for pipe in wait(list(busy)):
            assert isinstance(pipe, Connection)
            one = busy[pipe]
            job = one.job
            assert job
            try:
                kind, *words = pipe.recv()
            except (EOFError, OSError):
                self._bury(one)
                continue
            if kind in (TELL, STEP):
                one.told = words[0], words[1]
                (self.owner.say if kind == TELL else self.owner.show)(*one.told)
                continue
            one.job = one.told = None
            self._came(job, kind, words[0])
            self._say_again()

    def _say_again(self) -> None:
        """What a job does that still runs, in place of the words of one that ended."""
        for told in [p.told for p in self._processes if p.told][-1:]:
            self.owner.show(*told)

    def _came(self, job: Job, kind: str, word: Any) -> None:
        """What is done with the answer to a job."""
        if kind == "raised":
            raise word
        (self.owner.lost if kind == "failed" else self.owner.came)(job, word)

    def _bury(self, one: _Process) -> None:
        """A process has ended in the middle of a job."""
        self._processes.remove(one)
        one.process.join()
        assert one.job
        code = one.process.exitcode
        self.owner.lost(
            one.job,
            f"the grader's process for {one.job.name} ended with exit code {code}: "
            "grade it again, alone or with fewer JOBS=",
        )


# ---- in a process of its own ---------------------------------------------------------

TELL, STEP = "tell", "step"  # kinds of messages of a job that runs
_say: Callable[[str, str, str], None] | None = None  # kind, name, words
_last = ("", "")  # what the job has said of itself


def said(name: str, words: str) -> bool:
    """Send what a job says of itself to the process that shows it; False if this one is
    that process.
    """
    global _last
    if _say is None:
        return False
    _last = name, words
    _say(TELL, name, words)
    return True


def _step(what: str) -> None:
    """A step within what the job said last, or none any more (working.py)."""
    name, words = _last
    if _say and name:
        _say(STEP, name, what or words)


def _work(pipe: Connection, worker: Closing, core: int) -> None:
    global _say, _last
    for name in (signal.SIGINT, signal.SIGHUP):  # of the parent, which then ends us
        signal.signal(name, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _ended)
    # one whose parent is gone has nobody to answer to
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    sending = threading.Lock()  # the gates of lab 05 have a thread of their own

    def tell(kind: str, name: str, words: str) -> None:
        with sending:
            pipe.send((kind, name, words))

    _say = tell
    working.handed_to(_step)
    cores.settle(core)
    cores.pin()
    with contextlib.suppress(EOFError, OSError, KeyboardInterrupt):
        while (asked := pipe.recv()) is not None:
            _last = "", ""
            pipe.send(_answer(worker, *asked))
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115
    worker.close()


def _ended(signum: int, frame: FrameType | None) -> None:
    """End the job, and let nothing disturb what it has to put away."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def _answer(worker: Closing, job: Job, now: Any) -> tuple[str, Any]:
    """A message with the answer, or with why there is none."""
    try:
        return "done", job.run(worker, now)
    except Exception as error:
        if of_machine(error):  # the whole run ends
            return "raised", error
        from grader.checks.not_run import of_ours

        return "failed", of_ours(error)
