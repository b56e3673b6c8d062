# SPDX-License-Identifier: MIT
"""The fault table: every known way to break or cheat, in every language and sandbox.

    python -m tests.proofs.trust [--write] [KIND ...]     (make trust)

Each program of tests/programs/redteam is a matmul with one fault. It is graded as a
student's file would be, at each sandbox level this machine has, and its verdicts are
compared with faults.toml. Afterwards no process may be left, and no file may have
changed.
"""

from __future__ import annotations

import argparse
import functools
import os
import re
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from grader.checks.not_run import OURS
from grader.course import traffic
from grader.course.bands import SpeedTask
from grader.course.rungs import Rung, Selection, Task
from grader.course.tasks import all_tasks
from grader.engine.grade import Grader
from grader.engine.score import RungResult
from grader.runner.supervisor.cores import pin
from grader.toolchain import sandbox
from grader.toolchain.make import build_tools
from tests import PROGRAMS
from tests.proofs import packages, pages
from tests.proofs.frames import framed

REDTEAM = PROGRAMS / "redteam"
CANARY = REDTEAM / "canary.txt"
LANGUAGES = {"c": ".c", "python": ".py", "cuda": ".cu", "package": ".py"}
TASKS = {"cuda": "04_cuda_kernels/matmul"}  # of a program; else the one in lab 02
SQUARE = {"case": "square", "global_sectors_per_request": 5.0}  # 3 are derived
LIMITS = traffic.parse("tests/proofs/trust.py", {"forward": SQUARE})
SEED = 11
HEAD = """| kind | language | sandbox | forward | backward | s | | first message |
|---|---|---|---|---|--:|---|---|"""
MADE = """# The fault table

Made by `make trust` (`python -m tests.proofs.trust --write`). A line's number is
that in the whole program, the frame included (`tests/proofs/frames.py`)."""


@dataclass(frozen=True)
class Fault:
    """One cell of the table."""

    kind: str
    language: str
    level: str

    @property
    def file(self) -> Path:
        """The program, its frame included."""
        own = REDTEAM / self.language / f"{self.kind}{LANGUAGES[self.language]}"
        return own if self.language == "package" else framed(own)


@dataclass(frozen=True)
class Outcome:
    """What the grader said, and what was left behind."""

    forward: str
    backward: str
    message: str
    seconds: float
    leftover: list[int]
    touched: bool
    earned: float = 0.0  # of the speed points


@functools.cache
def table() -> dict[str, dict[str, object]]:
    """faults.toml."""
    return tomllib.loads((REDTEAM / "faults.toml").read_text())


def levels() -> list[str]:
    """The sandbox levels that work on this machine."""
    works = {"bwrap": sandbox.has_bwrap, "landlock": sandbox.has_landlock}
    return [name for name in sandbox.LEVELS if works.get(name, lambda: True)()]


def faults(kinds: Iterable[str] = ()) -> list[Fault]:
    """Every cell, or those of some kinds."""
    chosen = list(kinds) or list(table())
    return [
        Fault(kind, language, level)
        for kind in chosen
        for language in languages(kind)
        for level in levels()
    ]


def languages(kind: str) -> list[str]:
    """Those that a fault has a program in."""
    return [language for language in LANGUAGES if language in table()[kind]]


@contextmanager
def at_level(level: str) -> Iterator[None]:
    """Force a sandbox level."""
    forced = {sandbox.ENVIRONMENT: level, "NVCC": "none"}  # which runs nothing
    before = {name: os.environ.get(name) for name in forced}
    os.environ.update(forced)
    sandbox.level.cache_clear()
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        sandbox.level.cache_clear()


def proc_file(entry: Path, name: str) -> bytes:
    """A file of a process in /proc; nothing where it may not be read or has ended."""
    try:
        return (entry / name).read_bytes()
    except OSError:
        return b""


def owned_by(pid: int) -> set[int]:
    """Processes whose environment says that they are workers of `pid`."""
    mark = f"CONVLAB_OWNER={pid}\0".encode()
    entries = Path("/proc").glob("[0-9]*")
    return {int(entry.name) for entry in entries if mark in proc_file(entry, "environ")}


def descendants() -> set[int]:
    """Processes that belong to this one: children, and workers by their command."""
    mine, alive = owned_by(os.getpid()), set()
    for entry in Path("/proc").glob("[0-9]*"):
        status = proc_file(entry, "stat").rpartition(b")")[2].split() or [b"Z", b"0"]
        child = int(status[1]) == os.getpid() and b"worker" in proc_file(
            entry, "cmdline"
        )
        if status[0] != b"Z" and (child or int(entry.name) in mine):
            alive.add(int(entry.name))
    return alive - {os.getpid()}


def run(fault: Fault) -> Outcome:
    """Grade one program as a student's file."""
    if fault.language == "package":
        return run_package(fault)
    name = TASKS.get(fault.language, "02_naive_c/matmul")
    limits = LIMITS if fault.language == "cuda" else ()
    speed = timed_as(name) if table()[fault.kind].get("speed") else None
    covers = {"": tuple(table()[fault.kind].get("covers", ()))}
    covers = covers if covers[""] else {}
    rung = Rung(name, fault.file, traffic=limits, covers=covers)
    lab, ladder = name.split("/")
    task = Task(lab, ladder, fault.language, 4.0, rungs=(rung,), speed=speed)
    selection = Selection((task,), frozenset({rung.id}), whole=False)
    canary = CANARY.read_text()
    before = descendants()
    start = time.monotonic()
    with at_level(fault.level), Grader(selection, seed=SEED) as grader:
        grader.links.earlier = nobody_passed
        (result,) = grader.run()
    seconds = time.monotonic() - start
    found = result.rungs[0]
    return Outcome(
        str(found.verdict("forward") or ""),
        str(found.verdict("backward") or ""),
        _message(found),
        seconds,
        sorted(descendants() - before),
        CANARY.read_text() != canary,
        max((speed.earned for speed in found.speeds), default=0.0),
    )


def run_package(fault: Fault) -> Outcome:
    """Ask a package of lab 05 by gates of each direction."""
    canary, before, start = CANARY.read_text(), descendants(), time.monotonic()
    with at_level(fault.level), tempfile.TemporaryDirectory() as home:
        checks = packages.asked(fault.file, Path(home), packages.SHORT)
    seconds = time.monotonic() - start
    found = {check.direction: check for check in checks}
    return Outcome(
        str(found["forward"].verdict),
        str(found["backward"].verdict),
        found["forward"].message,
        seconds,
        sorted(descendants() - before),
        CANARY.read_text() != canary,
    )


def nobody_passed(rung: Rung, direction: str) -> None:
    """In place of what earlier gradings in this build folder found out."""


def timed_as(name: str) -> SpeedTask:
    """How forward is timed in a task of lab 02."""
    (speed,) = (task.speed for task in all_tasks() if task.id == name)
    assert speed
    return replace(speed, bands={"forward": speed.bands["forward"]})


def _message(result: RungResult) -> str:
    bad = [check for check in result.checks if not check.verdict.ok]
    ours = [c.diagnosis for c in bad if c.diagnosis and OURS in c.diagnosis]
    return (ours or [check.message for check in bad] or [""])[0]


def expected(fault: Fault) -> dict[str, str]:
    """The verdicts that faults.toml asks for, by direction."""
    entry = table()[fault.kind][fault.language]
    assert isinstance(entry, dict)
    return {d: entry[d] for d in ("forward", "backward")}


def wrong(fault: Fault, outcome: Outcome) -> list[str]:
    """What is not as it should be."""
    bad = []
    for direction, verdict in expected(fault).items():
        got = getattr(outcome, direction)
        if verdict and not re.fullmatch(verdict, got):
            bad.append(f"{direction} is {got or 'nothing'}, expected {verdict}")
    if outcome.earned:
        bad.append(f"earned {outcome.earned:.0%} of the speed points")
    if OURS in outcome.message:
        bad.append("the grader itself failed")
    if not outcome.message.replace("\n", "").isprintable():
        bad.append("the message holds control characters")
    if outcome.leftover:
        bad.append(f"left processes {outcome.leftover}")
    if outcome.touched:
        bad.append("changed a file")
    return bad


def row(fault: Fault, outcome: Outcome, bad: list[str]) -> str:
    """A line of the table."""
    state = "; ".join(bad) or "as expected"
    message = pages.cell(outcome.message.replace("|", "/"), 110)
    found = [outcome.forward, outcome.backward, f"{outcome.seconds:.1f}"]
    return pages.line([fault.kind, fault.language, fault.level, *found, state, message])


def main(arguments: list[str]) -> int:
    """Run the cells and print the table; 1 if one is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.proofs.trust")
    parser.add_argument("kinds", nargs="*")
    parser.add_argument("--write", action="store_true", help="docs/results/faults.md")
    parser.add_argument("--language", choices=LANGUAGES)
    parser.add_argument("--level", choices=sandbox.LEVELS)
    args = parser.parse_args(arguments)
    build_tools()
    pin()
    print(HEAD)
    lines, failed = [], 0
    for fault in faults(args.kinds):
        asked = {args.language or fault.language, args.level or fault.level}
        if asked != {fault.language, fault.level}:
            continue
        outcome = run(fault)
        bad = wrong(fault, outcome)
        failed += bool(bad)
        lines.append(row(fault, outcome, bad))
        print(lines[-1], flush=True)
    print(f"{len(lines)} cells, {failed} not as expected")
    if args.write:
        write(lines)
    return 1 if failed else 0


def write(lines: list[str]) -> None:
    """The table: a run of some cells replaces only those."""
    target = pages.RESULTS / "faults.md"
    before = target.read_text().splitlines() if target.exists() else []
    rows = {cell(line): line for line in before if line.count("|") > 6}
    rows |= {cell(line): line for line in lines}
    order = [(f.kind, f.language, f.level) for f in faults()]
    kept = [rows[name] for name in order if name in rows]
    bad = sum("| as expected |" not in line for line in kept)
    summary = f"{len(kept)} cells, {bad} not as expected"
    pages.write(target.name, MADE, "\n".join([HEAD, *kept]), summary)


def cell(line: str) -> tuple[str, str, str]:
    """Kind, language and level of a line of the table."""
    words = [word.strip() for word in line.split("|")]
    return words[1], words[2], words[3]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
