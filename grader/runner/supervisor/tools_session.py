# SPDX-License-Identifier: MIT
"""Runs lab 05's gates in the worker `tools`, a process that may start compilers.

Its sandbox is like a compiler's: it has its own process numbers, network and files.
Each gate has a deadline. If the process dies or hangs, this gate has failed, and
another process runs the other gates. This module does not import torch.

Each process has a room: a new folder with its request, which it reads, and `work`,
where it writes. In bubblewrap `work` is a file system in memory, of a limited size.
Tensors come through a socket. Only `cache`, for compiled code, stays from run to run,
unless the code is somebody else's. The grader does not read it.

Its limits hold without cgroups. Memory and processes are counted from outside, over all
processes that it has started. RLIMIT_AS would break torch's compiler, and RLIMIT_NPROC
does not hold for root.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from grader.course.foreign import short
from grader.runner.supervisor.gate_events import Event, Malformed, Told, decoded
from grader.runner.supervisor.kernel_calls import RESULT, Incoming, KernelCall, TooLarge
from grader.runner.supervisor.processes import own_modules, resident, share, tree
from grader.toolchain import gpu_probe, sandbox
from grader.toolchain.extension.compiler_environment import compiler_environment
from grader.toolchain.make import build_folder

ROOT = Path(__file__).resolve().parents[3]
START = 60.0  # seconds until torch and the package are imported
GATE = 90.0  # and for one gate: a compiler starts cold
ALL = 300.0  # for all gates of one operator
LIMITS = ("--core=0", "--fsize=1073741824", "--nofile=1024")
ANSWERED = 10.0  # seconds in which it has to take an answer
LOOK = 0.25  # seconds between two looks at what it uses
MEMORY = 3 << 30  # bytes that are resident, of all its processes together
PROCESSES = 300
FILES = 600 << 20  # bytes of its own files, in bubblewrap
RESULTS = 256 << 20  # bytes of tensors that one process may send
TOLD = 1 << 20  # bytes of events that are read
KEPT = 20_000  # bytes of its own output
ROOM = "room."  # how the name of a process's folder begins


@dataclass
class Answer:
    """What came of a gate: its tensors by job, or why there are none."""

    kind: str = "unasked"  # returned, broken, borrowed, skipped, raised, unwritten ...
    message: str = ""
    location: str = ""
    job: int = 0  # the last one that began
    results: list[list[tuple[Told, bytes]]] = field(default_factory=list)
    partial: list[list[tuple[Told, bytes]]] = field(default_factory=list)  # if broken
    seconds: float = 0.0  # between its first word and the next gate's


class Beyond(Exception):
    """A limit was passed; the text says which."""


class Tools:
    """One operator's gates, in `folder`; with `card` they may use the machine's."""

    def __init__(
        self,
        package: Path,
        folder: Path,
        *,
        gate_limit: float = GATE,
        card: bool = False,
        answer: Callable[[str, KernelCall], bytes] = lambda *_: b"",
        began: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`answer` says what the outputs of a kernel's call become in a gate. `began`
        gets the name of each gate that begins, and "import" before the first one.
        """
        self._answer, self._began = answer, began
        self.package, self.folder, self.gate_limit = package, folder, gate_limit
        self._card = card
        self.seen: list[Path] = []  # what else it may read
        self._walled = sandbox.level() == "bwrap"
        self._cache = folder / "cache"
        self._room = folder / "room"  # of the present process
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def run(
        self, names: Sequence[str], write: Callable[[Sequence[str], Path], None]
    ) -> dict[str, Answer]:
        """Run these gates in order. `write` puts a request for some of them into a
        file.
        """
        self.forget()  # the rooms of a run that was killed
        answers = {name: Answer() for name in names}
        end = time.monotonic() + ALL
        left = list(names)
        while left and not self._stopped:
            if time.monotonic() > end:
                for name in left:
                    text = f"all gates together took more than {ALL:.0f} s"
                    answers[name] = Answer("timeout", text)
                break
            try:
                self._room = self._new_room()
                write(left, self._room / "request.pt")
                broken = self._one(answers)
            finally:
                self.forget()
            before, left = left, [n for n in left if answers[n].kind == "unasked"]
            if broken is None and left == before:
                broken = Answer(
                    "died", "the process ended without a result for this gate"
                )
            if broken is not None:  # not even the first gate began
                for name in left:
                    answers[name] = broken
                break
        return answers

    def stop(self) -> None:
        """End it from another thread: nobody waits for the answers any more."""
        self._stopped = True
        self._kill()

    def forget(self) -> None:
        """Remove the rooms."""
        for room in self.folder.glob(f"{ROOM}*"):
            shutil.rmtree(room, ignore_errors=True)  # does not follow a link

    # ---- one process -----------------------------------------------------------------

    def _new_room(self) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        room = Path(tempfile.mkdtemp(prefix=ROOM, dir=self.folder))
        (room / "work").mkdir()
        if self._walled and os.environ.get(sandbox.STRANGER):
            self._cache = room / "work" / "cache"
        else:
            self._cache.mkdir(exist_ok=True)
        return room

    def _one(self, answers: dict[str, Answer]) -> Answer | None:
        """One process from start to end. What ended it before its first gate."""
        with contextlib.ExitStack() as opened:
            read, write = os.pipe()
            opened.callback(os.close, read)
            events = opened.enter_context(os.fdopen(write, "wb", 0))
            self._calls, theirs = socket.socketpair()
            opened.enter_context(self._calls)
            opened.enter_context(theirs)
            self._calls.settimeout(ANSWERED)
            output = opened.enter_context(tempfile.TemporaryFile())
            opened.callback(self._kill)
            self._start(write, theirs.fileno(), output)
            events.close()
            theirs.close()
            return self._read_events(answers, read, output)

    def _read_events(
        self, answers: dict[str, Answer], read: int, output: Any
    ) -> Answer | None:
        """What a process tells until its end, put into the answers."""
        now, since = "start", time.monotonic()
        alone = True  # up to here only our own code has run in it
        try:
            for event in self._events(read):
                alone = alone and event.event == "ready"
                if now in answers:
                    answers[now].seconds = time.monotonic() - since
                if event.event == "begin" and now != event.gate:
                    now, since = event.gate, time.monotonic()
                    self._began(now)
                if now in answers:
                    self._note(answers[now], event)
                elif event.kind:
                    return Answer(event.kind, event.message, event.location)
                if event.event == "end":
                    return None
            why = self._why(output)
        except Malformed as error:
            alone = False
            why = Answer("died", f"the process wrote an unknown line: {error}")
        except (Beyond, TooLarge) as error:
            alone = False
            why = Answer("limit", str(error))
        if now in answers:
            why.job = answers[now].job
            answers[now] = why
            return None
        return Answer("grader", why.message) if alone else why

    def _start(self, events: int, calls: int, output: Any) -> None:
        """The process in its sandbox."""
        script = Path(__file__).parents[1] / "worker" / "tools_worker.py"
        contract = ROOT / "common" / "python"
        command = [sys.executable, "-I", "-B", str(script), str(ROOT), str(contract)]
        request, work = self._room / "request.pt", self._room / "work"
        command += [str(request), str(events), str(calls)]
        if self._walled:
            etc = Path("/etc/alternatives")
            ours = [*own_modules(), contract, self.package, request, *self.seen]
            seen = [*sandbox.python_paths(), *ours, *([etc] if etc.exists() else [])]
            devices = gpu_probe.devices() if self._card else []
            seen += gpu_probe.seen() if self._card else []
            kept = [self._cache] if self._cache.parent != work else []
            command = ["prlimit", f"--nproc={PROCESSES}", "--", *command]
            command = sandbox.wrap_compiler(
                command,
                paths=seen,
                folders=kept,
                start=work,
                devices=devices,
                in_memory={work: FILES},
            )
        else:
            reaper = str(Path(__file__).with_name("reaper.py"))
            command = [sys.executable, "-I", "-S", "-B", reaper, *command]
        self._timed_out, self._held, self._kept = 0.0, 0, list[bytes]()
        self._process = subprocess.Popen(
            ["prlimit", *LIMITS, "--", *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=self.environment(),
            pass_fds=[events, calls],
            start_new_session=True,
        )

    def environment(self) -> dict[str, str]:
        """Caches and temporary files in its own folder."""
        card = gpu_probe.environment() if self._card else {}
        return {**compiler_environment(self._room / "work", self._cache), **card}

    def _events(self, read: int) -> Iterator[Event]:
        """Its lines, until it ends, says too much, or takes too long. Calls of kernels
        are answered between them.

        Raises Malformed, and Beyond or TooLarge where it uses too much.
        """
        text, total, end = b"", 0, time.monotonic() + START
        gate, incoming, calls = "", Incoming(), self._calls.fileno()
        pipes, looked = [read, calls], time.monotonic()
        while True:
            left = end - time.monotonic()
            ready = wait(pipes, min(max(left, 0), LOOK))
            if left <= 0:
                self._timed_out = max(self.gate_limit, 1e-9)
                return
            if time.monotonic() - looked > LOOK:
                self._look()
                looked = time.monotonic()
            if not ready:
                continue
            # what it has told before a call comes first, also between two looks
            if read not in ready and not wait([read], 0):
                pipes = [read, calls] if self._served(gate, incoming) else [read]
                continue
            chunk = os.read(read, 1 << 16)
            total += len(chunk)
            if not chunk or total > TOLD:
                return
            *lines, text = (text + chunk).split(b"\n")
            for line in lines:
                event = decoded(line)
                yield event
                if event.event == "begin":
                    gate, self._kept = event.gate, []
                    end = time.monotonic() + self.gate_limit

    def _served(self, gate: str, incoming: Incoming) -> bool:
        """Answer a call of a kernel, if it is whole. False if there will be no more.

        Raises Malformed and TooLarge.
        """
        try:
            data = self._calls.recv(1 << 20)
            if call := incoming.add(data):
                self._calls.sendall(self._answered(gate, call))
        except OSError:
            return False
        return bool(data)

    def _answered(self, gate: str, call: KernelCall) -> bytes:
        """What goes back: for a result of the gate, a byte that it has come."""
        if call.name != RESULT:
            return self._answer(gate, call)
        tensor = call.outputs[0] if len(call.outputs) == 1 else None
        if tensor is None:
            raise Malformed("a result is missing")
        self._held += len(tensor.data)
        if self._held > RESULTS:
            raise TooLarge("the results of the gates have", RESULTS)
        self._kept.append(tensor.data)
        return b"."

    def _look(self) -> None:
        """Raise Beyond if the process, and all it has started, use too much."""
        assert self._process
        numbers = tree(self._process.pid)
        if len(numbers) > PROCESSES:
            raise Beyond(f"runs more than {PROCESSES} processes at the same time")
        most = sum(map(resident, numbers))
        if most > MEMORY and sum(map(share, numbers)) > MEMORY:
            raise Beyond(f"uses more than {MEMORY >> 20} MiB of memory")

    def _note(self, answer: Answer, event: Event) -> None:
        """An event of a gate."""
        if event.event == "begin":
            answer.job = event.job
        elif event.kind:
            answer.kind = event.kind
            answer.message, answer.location = event.message, event.location
        if event.kind == "returned" or event.results:
            if len(event.results) != len(self._kept):
                raise Malformed("the process reports other results than it has sent")
            whole = answer.results if event.kind == "returned" else answer.partial
            whole.append(list(zip(event.results, self._kept)))

    def _why(self, output: Any) -> Answer:
        """Why there will be no more events."""
        if self._timed_out:
            text = f"did not return within {self._timed_out:.0f} s: an endless loop?"
            return Answer("timeout", text)
        assert self._process
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)
        code = self._process.returncode or 0
        number = -code if code < 0 else code - 128 if code > 128 else 0
        output.seek(0)
        words = output.read(KEPT).decode(errors="replace")
        if number:
            has_name = number in set(signal.Signals)
            name = signal.Signals(number).name if has_name else str(number)
            return Answer("died", f"{name}: the process crashed", _line(words))
        last = [line for line in words.splitlines() if line.strip()][-1:]
        said = f" ({short(last[0], 200)})" if last else ""
        return Answer("died", f"the process ended itself, with exit code {code}{said}")

    def _kill(self) -> None:
        """End it, and all that it started."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        if not self._walled:
            process.terminate()  # reaper.py
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=5)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # bwrap's namespace ends with it
        process.wait()


def _line(words: str) -> str:
    """The student's line in faulthandler's traceback."""
    for row in words.splitlines():
        if "/convlab_ext/" in row and row.strip().startswith("File "):
            parts = row.split('"')
            number = row.partition(", line ")[2].split(" ")[0]
            return f"{parts[1]}:{number}"
    return ""


def folder_for(step: str, operator: str) -> Path:
    """Where an operator's gates write: compiled code stays from run to run."""
    return build_folder() / "extension" / "tools" / step / operator
