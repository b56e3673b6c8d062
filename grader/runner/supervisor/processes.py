# SPDX-License-Identifier: MIT
"""Finds a worker's processes from outside its namespace, and what they use."""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path


def pidfd(pid: int) -> int:
    """A descriptor of a process; -1 if it is gone."""
    try:
        return os.pidfd_open(pid)
    except OSError:
        return -1


def namespace_init(info: int) -> int:
    """The process number of bubblewrap's init as this side sees it; 0 if none came."""
    text = b""
    while chunk := os.read(info, 4096):
        text += chunk
        try:
            return int(json.loads(text)["child-pid"])
        except ValueError:
            continue
    return 0


def only_child(pid: int) -> int:
    """The worker: the only child of bubblewrap's init. 0 if it is gone."""
    for _ in range(2000):
        if numbers := children(pid):
            return numbers[0]
        if not Path(f"/proc/{pid}").exists():
            return 0
        time.sleep(0.001)
    return 0


def cpu_seconds(pid: int) -> float:
    """Time on a core that a process has had, with all its threads; 0 if it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0.0
    user, system = text.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def children(pid: int) -> list[int]:
    """What a process has started and not yet waited for."""
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(number) for number in text.split()]


def tree(pid: int) -> list[int]:
    """A process and all that it, and they, have started."""
    found = [pid]
    for one in found:  # grows
        with contextlib.suppress(OSError):  # it has ended
            for task in Path(f"/proc/{one}/task").iterdir():
                found += _started_by(task / "children")
    return found


def _started_by(task: Path) -> list[int]:
    try:
        return [int(number) for number in task.read_text().split()]
    except OSError:  # the thread has ended
        return []


def resident(pid: int) -> int:
    """Bytes of memory that a process has; 0 if it is gone."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def share(pid: int) -> int:
    """The same, but a page that several processes have counts once among them. Takes
    milliseconds.
    """
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    rows = (line.split() for line in text.splitlines())
    return sum(int(row[1]) << 10 for row in rows if row[0] == "Pss:")


def memory_kills() -> int:
    """How many processes this system has killed for want of memory; -1 where it does
    not count them.
    """
    try:
        text = Path("/proc/vmstat").read_text()
    except OSError:
        return -1
    rows = (line.split() for line in text.splitlines())
    return next((int(row[1]) for row in rows if row[0] == "oom_kill"), -1)


def own_modules() -> list[Path]:
    """What a Python worker imports of the grader: it is shown nothing else of it, and
    so no case.
    """
    supervisor = Path(__file__).parent
    above = [supervisor, *supervisor.parents[:2]]  # runner, grader
    shared = [folder / "__init__.py" for folder in above]
    return [*shared, supervisor / "wire.py", supervisor.parent / "worker"]
