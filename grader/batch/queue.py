# SPDX-License-Identifier: MIT
"""Jobs in a folder that several processes share, also over NFS, without any lock.

    jobs      a folder for each, with what was handed in; whole from the first moment
    leases    ID.N: the N-th process that took the job; a heartbeat is the file's time
    results   a file for each job: it comes once, whole, and never changes

A process takes a job with a new lease file (O_EXCL), if the last lease is too old. So a
process that was stopped for long may still work while another one has its job. Both may
finish: link() puts a result in place and fails where one stands. The first one counts.
Each process renews its own lease files alone, so none can renew a lease that it lost.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import threading
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.closing import Closing
from grader.errors import GraderError

MOST = 10  # processes that may end in the middle of one job
BEATS = 6  # in the time of a lease
PROC = Path("/proc")


def owner(pid: int) -> str:
    """A process, by a name that no other machine's has."""
    return f"{socket.gethostname()}-{pid}"


def is_gone(name: str) -> bool:
    """Whether a process of this machine has ended. Of others nobody here can tell."""
    host, _, pid = name.rpartition("-")
    return host == socket.gethostname() and not (PROC / pid).exists()


@dataclass
class Lease:
    """A job that this process has."""

    id: str
    number: int  # of the processes that took it
    file: Path

    @contextlib.contextmanager
    def beating(self, seconds: float) -> Iterator[None]:
        """Renew it again and again, in a thread: one that is stopped does not."""
        done = threading.Event()

        def beat() -> None:
            while not done.wait(seconds / BEATS):
                with contextlib.suppress(OSError):
                    os.utime(self.file)

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def give_up(self) -> None:
        """Another process may take the job now; this one counts as ended."""
        with contextlib.suppress(FileNotFoundError):
            os.utime(self.file, (0, 0))

    def give_back(self) -> None:
        """As if it had never been taken."""
        self.file.unlink(missing_ok=True)


class Queue(Closing):
    """The folder, as one process sees it."""

    def __init__(self, folder: Path, *, lease: float) -> None:
        self.folder, self.lease = folder, lease  # seconds without a heartbeat
        self.jobs, self.leases = folder / "jobs", folder / "leases"
        self.results = folder / "results"
        self._me = owner(os.getpid())
        self._clock = self.leases / f".{self._me}"
        for part in (self.jobs, self.leases, self.results):
            part.mkdir(parents=True, exist_ok=True)

    def close(self) -> None:
        """Remove what belongs to this process alone."""
        self._clock.unlink(missing_ok=True)

    # ---- jobs ------------------------------------------------------------------------

    def add(self, id_: str, files: Mapping[str, bytes]) -> None:
        """A job, if it is not there yet."""
        if (self.jobs / id_).exists():
            return
        new = self.jobs / f".{id_}-{self._me}"
        shutil.rmtree(new, ignore_errors=True)
        (new / "files").mkdir(parents=True)
        for name, data in files.items():
            (new / "files" / name).parent.mkdir(parents=True, exist_ok=True)
            (new / "files" / name).write_bytes(data)
        with contextlib.suppress(FileExistsError):
            new.rename(self.jobs / id_)

    def only(self, ids: Collection[str], *, fresh: bool = False) -> None:
        """Forget the other jobs; of these also the results, if they are asked anew."""
        for job in self.jobs.iterdir():
            if job.name not in ids:
                shutil.rmtree(job, ignore_errors=True)
        for file in self.results.iterdir():
            if file.name.startswith(".") or (fresh and file.stem in ids):
                file.unlink(missing_ok=True)
        for file in self.leases.iterdir():
            if fresh or file.name.rpartition(".")[0] not in ids:
                file.unlink(missing_ok=True)

    def waiting(self) -> list[str]:
        """The jobs without a result."""
        done = {file.stem for file in self.results.glob("*.json")}
        names = sorted(job.name for job in self.jobs.iterdir())
        return [name for name in names if not name.startswith(".") and name not in done]

    # ---- leases ----------------------------------------------------------------------

    def claim(self) -> Lease | None:
        """A job that nobody works on; None if there is none now."""
        for id_ in self.waiting():
            if lease := self._claimed(id_):
                if not (self.results / f"{id_}.json").exists():
                    return lease
                lease.give_back()
        return None

    def _claimed(self, id_: str) -> Lease | None:
        taken = self._taken(id_)
        last = max(taken, default=0)
        if last and self._age(taken[last]) < self.lease:
            return None
        file = self.leases / f"{id_}.{last + 1}"
        try:
            made = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        except FileExistsError:
            return None
        with os.fdopen(made, "w") as text:
            text.write(self._me)
        return Lease(id_, last + 1, file)

    def _taken(self, id_: str) -> dict[int, Path]:
        """The leases of a job by number."""
        return {int(one.suffix[1:]): one for one in self.leases.glob(f"{id_}.*")}

    def _age(self, file: Path) -> float:
        """Seconds since a heartbeat, by the clock of the machine that has the disk."""
        try:
            with file.open("rb") as opened:  # NFS asks for the time anew
                beat = os.fstat(opened.fileno()).st_mtime
        except FileNotFoundError:
            return self.lease
        self._clock.touch()
        return self._clock.stat().st_mtime - beat

    def bury(self) -> None:
        """The leases of processes of this machine that have ended end too."""
        for file in self.leases.iterdir():
            with contextlib.suppress(FileNotFoundError):
                if file.name.startswith("."):
                    if is_gone(file.name[1:]):
                        file.unlink()
                elif is_gone(file.read_text()):
                    os.utime(file, (0, 0))

    # ---- results ---------------------------------------------------------------------

    def put(self, id_: str, result: Mapping[str, Any]) -> bool:
        """A result, whole or not at all. False if one stands already."""
        new = self.results / f".{id_}-{self._me}"
        with new.open("w", encoding="utf-8") as file:
            json.dump(result, file)
            file.flush()
            os.fsync(file.fileno())
        try:
            with contextlib.suppress(FileExistsError):
                os.link(new, self.results / f"{id_}.json")
            return new.stat().st_nlink == 2  # the answer to a link may get lost on NFS
        finally:
            new.unlink()

    def result(self, id_: str) -> dict[str, Any] | None:
        """A job's result; None if there is none yet."""
        file = self.results / f"{id_}.json"
        try:
            found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise GraderError(
                f"{file} cannot be read as the result of a job: {error}; delete it, "
                "and run the command again"
            ) from error
        return found
