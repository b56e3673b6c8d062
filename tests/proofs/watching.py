# SPDX-License-Identifier: MIT
"""How long `make watch` lets a student wait, and how much memory it takes.

In a real terminal on a copy of the repository: a file is saved with one statement more
than before, and the screen is read until it shows a verdict.
"""

from __future__ import annotations

import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from grader.toolchain import cusim
from grader.toolchain.make import build_folder, build_tools
from tests.grader.engine.test_grade import copy_of_the_repository
from tests.grader.watch.terminal import Terminal
from tests.proofs import pages

PAGE = """# How long `make watch` lets a student wait

Made by `python -m tests.proofs.stress watch` on {}.
Seconds from a save until the screen shows the first verdict, and until it shows the
last one of values and gradients: of each the median, the slowest, the limit. Each save
has one statement more than the one before; it comes two seconds after the last grading
has ended. The terminal has 80 columns and 24 rows and is read every 20 ms. Memory in GB
is the most that the watcher and all its workers held together during two more saves;
what they share is counted once. The last column has the most of a compiler that ran
beside them, with the program that starts it: in lab 05 that is setup.py, which imports
PyTorch. A dash: it was not measured apart, and `memory` holds it too."""
HEAD = ["file", "saves", *2 * ["median", "slowest", "limit"], "memory", "compiler"]
MOST_MEMORY = 1.5  # GB
COMPILERS = {"make", "setup.py"}  # and all that they start
SETTLE = 2.0  # seconds between the end of a grading and the next save
PATIENCE = 300.0
_FIRST = re.compile(r"^  \w.* [A-Z_]{4,}\b", re.M)  # a check and its verdict
_NUMBERS = re.compile(r"finite differences, backward.* [A-Z_]{4,}")  # the last of them


@dataclass(frozen=True)
class Watched:
    """A file that is saved again and again, and how long it may take."""

    file: str  # below labs/
    behind: str  # a line that one more statement follows
    statement: str  # %d makes it differ from save to save
    first: float  # seconds
    whole: float | None = None
    folders: tuple[str, ...] = ()  # below labs/, that it needs

    @property
    def task(self) -> str:
        """What is watched."""
        lab, operator, *_ = self.file.split("/")
        named = operator if operator != "csrc" else Path(self.file).stem
        return f"{lab}/{named}"


WATCHED = (
    Watched(
        "01_python_function/conv2d/00_unfold_matmul.py",
        *("import torch", "SAVE = %d"),
        0.7,
        folders=("01_python_function/conv2d",),
    ),
    Watched(
        "02_naive_c/conv2d/00_definition.c",
        *("{", "(void)%d;"),
        1.0,
        1.5,
        folders=("02_naive_c/conv2d",),
    ),
    Watched(
        "04_cuda_kernels/conv2d/00_direct.cu",
        *("{", "(void)%d;"),
        2.5,
        folders=("04_cuda_kernels/conv2d",),
    ),
    Watched(
        "05_torch_extension/csrc/stable/conv2d.cpp",
        *("{", "(void)%d;"),
        8.0,
        folders=(
            *("03_im2col_cpu/conv2d", "03_im2col_cpu/matmul"),
            "05_torch_extension",
        ),
    ),
)


@dataclass(frozen=True)
class Waits:
    """What was measured of one file."""

    watched: Watched
    first: list[float]
    whole: list[float]
    memory: float  # GB
    compiler: float  # GB

    def row(self) -> list[object]:
        """Its line in the table."""
        limits = self.watched.first, self.watched.whole
        times = [
            [f"{statistics.median(found):.2f}", f"{max(found):.2f}", limit or "-"]
            for found, limit in zip((self.first, self.whole), limits)
        ]
        saves = len(self.first)
        held = [f"{number:.2f}" for number in (self.memory, self.compiler)]
        return [self.watched.file, saves, *times[0], *times[1], *held]

    def broken(self) -> bool:
        """Whether a limit is."""
        late = statistics.median(self.first) > self.watched.first
        most = self.watched.whole or float("inf")
        late = late or statistics.median(self.whole) > most
        return late or self.memory > MOST_MEMORY


def measure(watched: Watched, saves: int) -> Waits:
    """Save a file so many times, and twice more to see the memory."""
    times, most = [], (0, 0)
    with (
        tempfile.TemporaryDirectory() as folder,
        _watch(watched, Path(folder)) as terminal,
    ):
        save = _saving(watched, Path(folder) / "labs" / watched.file)
        terminal.until("graded")
        for number in range(saves):
            time.sleep(SETTLE)
            save(number)
            times.append(_waited(terminal))
        for number in range(saves, saves + 2):
            save(number)
            terminal.until_it(lambda text: "graded" not in text, "work")
            while "graded" not in terminal.text():
                now = memory(terminal.process())
                most = max(most[0], now[0]), max(most[1], now[1])
                time.sleep(0.1)
    first, whole = (list(column) for column in zip(*times))
    return Waits(watched, first, whole, most[0] / 1e9, most[1] / 1e9)


def _saving(watched: Watched, file: Path) -> Callable[[int], None]:
    """A function that saves the file for the n-th time."""
    text, line = file.read_text(), f"\n{watched.behind}\n"
    assert line in text, f"{file} has no line {watched.behind!r}"

    def save(number: int) -> None:
        more = f"{line}{watched.statement % number}\n"
        file.write_text(text.replace(line, more, 1))

    return save


def _waited(terminal: Terminal) -> tuple[float, float]:
    """Seconds to the first verdict, and to the last of values and gradients."""
    start = time.monotonic()
    terminal.until_it(lambda t: "graded" not in t and bool(_FIRST.search(t)), "verdict")
    first = time.monotonic() - start
    terminal.until_it(lambda t: bool(_NUMBERS.search(t)), "gradients")
    whole = time.monotonic() - start
    terminal.until("graded")
    return first, whole


@contextmanager
def _watch(watched: Watched, root: Path) -> Iterator[Terminal]:
    """`make watch` of a file's task in a copy of the repository."""
    tools = build_folder() / "tools"
    tree = copy_of_the_repository(root, tools, *watched.folders, timed=True)
    env = {"CONVLAB_BUILD": str(tree.build), "PATH": os.environ["PATH"]}
    command = [sys.executable, "-m", "grader", "watch", f"labs/{watched.file}"]
    if watched.file.startswith("05"):
        command[-1] = watched.task
    with Terminal(command, cwd=root, env=env, patience=PATIENCE) as terminal:
        yield terminal


def memory(process: int) -> tuple[int, int]:
    """Bytes of a process and all below it, what they share counted once: without
    compilers, and of these alone.
    """
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            behind_its_name = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(behind_its_name[1]), []).append(int(entry.name))
    waiting, held = [(process, False)], [0, 0]
    while waiting:
        one, compiles = waiting.pop()
        try:
            words = Path(f"/proc/{one}/cmdline").read_text().split("\0")
            text = Path(f"/proc/{one}/smaps_rollup").read_text()
        except OSError:
            words, text = [], ""
        compiles = compiles or not COMPILERS.isdisjoint(words)
        waiting += [(child, compiles) for child in parents.get(one, [])]
        kilobytes = re.findall(r"(?m)^Pss: +(\d+) kB", text)
        held[compiles] += sum(int(number) for number in kilobytes) << 10
    return held[0], held[1]


def main(saves: int, only: str) -> int:
    """Measure the files whose names begin so, put them into the table; 1 if a limit is
    broken.
    """
    os.sched_setaffinity(0, range(os.cpu_count() or 1))  # a proof has one core
    build_tools()
    cusim.build_tools()
    rows, broken = pages.known_rows("watch.md"), 0
    for watched in [one for one in WATCHED if one.file.startswith(only)]:
        waits = measure(watched, saves)
        broken += waits.broken()
        rows[watched.file] = pages.line(waits.row())
        print(rows[watched.file], flush=True)
        lines = [rows[one.file] for one in WATCHED if one.file in rows]
        words = PAGE.format(pages.machine())
        pages.write("watch.md", words, "\n".join([*pages.table(HEAD, []), *lines]))
    return int(broken > 0)
