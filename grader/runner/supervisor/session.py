# SPDX-License-Identifier: MIT
"""Controls a worker: one process that runs student code. core.c does the work.

A worker takes Calls (call.py). Each gives an Outcome. The Call then holds the outputs
and the state of their memory. The worker's own reports can cost points or give a
message its words. No check passes because of them, except lab 01's audit. This module
does not import torch, so that workers can start while torch is imported.
"""

from __future__ import annotations

import ctypes
import functools
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING

from grader.course.foreign import clean
from grader.runner.supervisor.cores import cpu, pin
from grader.runner.supervisor.processes import (
    children,
    cpu_seconds,
    memory_kills,
    namespace_init,
    only_child,
    own_modules,
    pidfd,
)
from grader.runner.supervisor.spoken import Spoken
from grader.runner.supervisor.undisturbed import undisturbed
from grader.runner.supervisor.wire import (
    PHASE_FAULT,
    SECOND,
    SIDE_TENSORS,
    Command,
    Reply,
    Request,
)
from grader.toolchain import isa, loader, sandbox
from grader.toolchain.make import OWNER, build_folder

if TYPE_CHECKING:
    from grader.runner.supervisor.call import Call

ROOT = Path(__file__).resolve().parents[3]
START_LIMIT = {"c": 10 * SECOND, "python": 120 * SECOND}
CARD_LIMIT = 60 * SECOND  # the driver of a GPU that slept wakes up slowly


class Outcome(IntEnum):
    """What came of handing over: the OUTCOME_ values of core.h."""

    RETURNED = 0
    DIED = 1
    TIMEOUT = 2
    TOO_LARGE = 3
    NOT_FROZEN = 4
    INTERRUPTED = 5


@functools.cache
def core() -> ctypes.CDLL:
    """The supervisor's library in C, built by grader/toolchain/tools.mk."""
    library = ctypes.CDLL(str(tools() / "libsupervisor.so"), use_errno=True)
    library.session_open.restype = ctypes.c_void_p
    library.session_reply.restype = ctypes.POINTER(Reply)
    library.session_command.restype = ctypes.POINTER(Command)
    library.session_command.argtypes = [ctypes.c_void_p]
    library.session_look_again.restype = ctypes.c_int64
    library.session_state.restype = ctypes.c_char
    handle, text, count = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64
    request, number = ctypes.POINTER(Request), ctypes.c_int
    library.session_descriptors.argtypes = [handle, ctypes.POINTER(number)]
    library.session_reply.argtypes = [handle]
    library.session_adopt.argtypes = [handle, number]
    library.session_wait.argtypes = [handle, count]
    library.session_prepare.argtypes = [handle, number]
    library.session_load.argtypes = [handle, text, count, count]
    library.session_run.argtypes = [handle, request]
    library.session_place.argtypes = [handle, request]
    library.session_look_again.argtypes = [handle, request, number, number]
    library.session_state.argtypes = [handle]
    library.session_save.argtypes = [handle, text, text]
    library.session_close.argtypes = [handle]
    return library


def tools() -> Path:
    """Where the grader's own programs were built."""
    return build_folder() / "tools"


@dataclass(frozen=True)
class Death:
    """How a worker ended: by a signal, or with an exit code."""

    signal: int = 0
    code: int = 0


@dataclass(frozen=True)
class Outside:
    """What a worker on a GPU needs beyond its sandbox."""

    devices: tuple[Path, ...]  # files it may read, write and control
    libraries: tuple[Path, ...]  # that it loads by name
    environment: Mapping[str, str]


def _environment(outside: Outside | None) -> dict[str, str]:
    """All of a worker's environment."""
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": "/tmp",
        "LC_ALL": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        "GOMP_SPINCOUNT": "1000",  # threads that wait sleep: cores are few
        "CUSIM_PATIENCE": "3",  # seconds for one thread; less than a call has
        "CONVLAB_CPU": str(cpu()),
        OWNER: str(os.getpid()),
        **isa.environment(),
        **(outside.environment if outside else {}),
    }


class Worker:
    """A process that runs student code, in the sandbox of this machine.

    Use as a context manager, or call `end`: no process is left behind either way.
    """

    def __init__(
        self,
        kind: str,
        command: list[str],
        *,
        paths: list[Path],
        op: int,
        outside: Outside | None = None,
    ) -> None:
        self.kind, self.outside = kind, outside
        self.program = ""  # of kind c: worker, worker-asan, worker-cuda-...
        self.level = sandbox.level()
        self.started = False  # up to here only our own code has run in it
        self.libraries: tuple[Path, ...] = ()  # that define forward, backward
        self._death: Death | None = None
        self._memory_kills = memory_kills()
        self._adopted = 0
        self._session = core().session_open()
        if not self._session:
            error = os.strerror(ctypes.get_errno())
            raise OSError(f"cannot make the worker's shared memory: {error}")
        self.reply = core().session_reply(self._session).contents
        self.command = core().session_command(self._session).contents
        core().session_prepare(self._session, op)
        try:
            with undisturbed():  # until its processes are known by number
                self._start(command, paths)
        except BaseException:
            if hasattr(self, "process"):  # interrupted while it began
                self._kill()
                self.process.wait()
            core().session_close(self._session)
            self._session = None
            raise

    @classmethod
    def for_library(
        cls,
        forward: Path,
        backward: Path,
        op: int,
        *,
        program: str = "worker",
        under: Sequence[str] = (),
        also: Sequence[Path] = (),
        outside: Outside | None = None,
    ) -> Worker:
        """A C worker for two libraries; sees `also` and what it is linked with. Run by
        `under`, a debugger, it sees the whole system.
        """
        seen = [tools() / program, forward.resolve(), backward.resolve()]
        command = [*under, *(str(path) for path in seen)]
        linked = [tools() / "nothing.so", *(outside.libraries if outside else ())]
        needed = loader.needed(seen[0], linked, _environment(outside))
        seen += [*needed, *also, *(sandbox.system_paths() if under else [])]
        worker = cls("c", command, paths=seen, op=op, outside=outside)
        worker.libraries = (seen[1], seen[2])
        worker.program = program
        return worker

    @classmethod
    def for_python(cls, *also: Path) -> Worker:
        """A Python worker that has begun to import torch; `load` gives it a file. It
        sees `also`.
        """
        script = Path(__file__).parents[1] / "worker" / "python_worker.py"
        contract = ROOT / "common" / "python"
        program = [sys.executable, "-I", "-B", "-u", "-X", "faulthandler", str(script)]
        program += [str(tools() / "libworker.so"), str(ROOT), str(contract)]
        seen = [*sandbox.python_paths(), *own_modules(), contract, tools()]
        return cls("python", program, paths=[*seen, *also], op=0)

    def _start(self, command: list[str], paths: list[Path]) -> None:
        numbers = (ctypes.c_int * 4)()
        core().session_descriptors(self._session, numbers)
        descriptors = list(numbers)
        if self.kind == "c":
            pin()  # inherited
        command = [*command, *map(str, descriptors), self.level]
        command += [str(path) for path in (*paths, *sandbox.PROCESSOR)]
        info_read, info_write = os.pipe()
        passed = [*descriptors, *([info_write] if self.level == "bwrap" else [])]
        if self.level == "bwrap":
            more = self.outside.devices if self.outside else ()
            command = sandbox.wrap(command, paths=paths, info=info_write, devices=more)
        read, write = os.pipe()
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=write,
            stderr=write,
            env=_environment(self.outside),
            pass_fds=passed,
            start_new_session=True,
        )
        self._leader = self.process.pid
        os.close(write)
        os.close(info_write)
        self.spoken = Spoken(read)
        if self.level == "bwrap":
            self._leader = namespace_init(info_read)
        os.close(info_read)

    @property
    def output(self) -> bytes:
        """The first and last of what its process has written: nobody vouches for it."""
        return self.spoken.kept

    def wait_ready(self) -> Outcome:
        """Wait until the worker can take its first call (C) or its file (Python)."""
        if self._leader == 0:
            return self._dead()
        pid = self._leader
        if self.level == "bwrap":
            pid = only_child(pid)
        if pid == 0 or core().session_adopt(self._session, pid):
            return self._dead()
        self._adopted = pid
        limit = CARD_LIMIT if self.outside else START_LIMIT[self.kind]
        outcome = self._settle(core().session_wait(self._session, limit))
        if outcome is not Outcome.RETURNED:
            return outcome
        self.started = True
        return self.load(b"") if self.kind == "c" else outcome

    def load(
        self, text: bytes, *, op: int | None = None, deadline: float = 20.0
    ) -> Outcome:
        """Let the worker load the rung: its library, or for Python the text given here,
        a line of JSON about the file and then the file.
        """
        if op is not None:
            core().session_prepare(self._session, op)
        limit = int(deadline * SECOND)
        return self._settle(core().session_load(self._session, text, len(text), limit))

    def run(self, call: Call) -> Outcome:
        """Run one case; outputs and findings are in `call` afterwards."""
        core().session_run(self._session, call.pointer)
        return self._settle(call.request.outcome)

    def _settle(self, code: int) -> Outcome:
        """An outcome as Python sees it: death explained, an interruption raised."""
        outcome = Outcome(code)
        if outcome is Outcome.INTERRUPTED:
            raise KeyboardInterrupt
        return self._dead() if outcome is Outcome.DIED else outcome

    def look_again(self, call: Call, i: int, *, milliseconds: int = 50) -> int:
        """Unwritten elements of output `i` after the worker ran on for a while."""
        return int(
            core().session_look_again(
                self._session, call.pointer, SIDE_TENSORS + i, milliseconds
            )
        )

    def save(self, call: Call, folder: Path) -> tuple[Path, Path]:
        """Keep a command and its inputs on disk, for worker --replay."""
        core().session_place(self._session, call.pointer)
        paths = folder / "in.bin", folder / "out.bin"
        if core().session_save(self._session, *(str(path).encode() for path in paths)):
            raise OSError(f"cannot write the case's memory to {folder}")
        return paths

    def children(self) -> list[int]:
        """Processes that the adopted one has started: the worker, under a debugger."""
        return children(self._adopted) if self._adopted else []

    @property
    def cpu_seconds(self) -> float:
        """Time on a core that its process has had; 0 when it is gone."""
        return cpu_seconds(self._adopted) if self._adopted else 0.0

    @property
    def ended(self) -> bool:
        """Whether nothing is left of it."""
        return not self._session

    @property
    def state(self) -> str:
        """R running, S sleeping, T stopped, Z dead ... as the kernel tells it."""
        return str(core().session_state(self._session).decode())

    @property
    def message(self) -> str:
        """What the worker says happened: a hint, cleaned of control characters."""
        return clean(bytes(self.reply.message))

    @property
    def notes(self) -> str:
        """What the worker noted in an audit: a hint."""
        return clean(bytes(self.reply.notes))

    @property
    def death(self) -> Death:
        """How the worker ended."""
        return self._death or Death()

    @property
    def memory_ran_out(self) -> bool:
        """Whether the system has ended a process for want of memory since it began."""
        return memory_kills() != self._memory_kills

    @property
    def faulted(self) -> bool:
        """Whether the reply page holds the address of the fault that ended it."""
        ended = self.reply.signo == self.death.signal
        return bool(self.reply.phase == PHASE_FAULT and ended)

    def _dead(self) -> Outcome:
        if self._death is None:
            try:
                code = self.process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self._kill()
                code = self.process.wait()
            if code < 0:
                self._death = Death(signal=-code)
            elif self.level == "bwrap" and code > 128:
                self._death = Death(signal=code - 128)
            else:
                self._death = Death(code=code)
            self.spoken.join(timeout=5)
        return Outcome.DIED

    def _kill(self) -> None:
        """End every process of the worker. In bubblewrap, killing its init does."""
        for pid in {self._leader, self.process.pid} - {0}:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue

    def end(self) -> None:
        """Kill the worker and wait until nothing of it is left."""
        if not self._session:
            return
        watch = pidfd(self._leader) if self._leader else -1
        self._kill()
        self.process.wait()
        if watch >= 0:
            wait([watch], 5)  # the namespace is gone when its init is
            os.close(watch)
        self.spoken.join(timeout=5)
        self.reply = Reply.from_buffer_copy(self.reply)  # the memory goes now
        self.command = Command.from_buffer_copy(self.command)
        core().session_close(self._session)
        self._session = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
