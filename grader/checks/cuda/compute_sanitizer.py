# SPDX-License-Identifier: MIT
"""Runs NVIDIA's compute-sanitizer on a right rung, to find errors of memory and order.

Some cases of a direction are kept on disk. `worker --replay` runs them under memcheck
(`gpu memory`), and under racecheck and synccheck (`gpu races`). The lines of a report
begin with "=========": a headline, then the position in the code and the threads. The
user's manual "Compute Sanitizer" shows these forms, in its chapters on the three tools
(docs.nvidia.com/compute-sanitizer/ComputeSanitizer). Older forms of cuda-memcheck are
read too.

The replay sets no limits for itself (limits.h), so it runs only inside bubblewrap.
CONVLAB_GPU_SANITIZER=open runs it without bubblewrap, for code that you trust; =off
leaves it out. If the tool does not start (another driver, no counters), no rung is
checked. Then each result says why.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.checks.check_result import (
    CheckResult,
    Finding,
    Stopped,
    Tell,
    nobody,
    summarize,
)
from grader.checks.cuda import under_cusim
from grader.checks.memory import sanitizer_report
from grader.checks.subject import Subject
from grader.checks.values.prepared import prepare
from grader.course.foreign import clean, short
from grader.course.rungs import ROOT
from grader.operators import Case
from grader.runner.supervisor.session import tools
from grader.toolchain import gpu_probe, sandbox
from grader.toolchain.make import build_folder
from grader.verdicts import Verdict

TOOLS = {"gpu memory": ("memcheck",), "gpu races": ("racecheck", "synccheck")}
DTYPE = "f32"
FEW = 3  # cases of a direction: the largest
BUDGET = 60.0  # seconds for one check
DEADLINE = 120  # of one run
KEPT = 200_000  # bytes of a report
ENVIRONMENT = "CONVLAB_GPU_SANITIZER"
WORKS = "the card works"  # says worker --card

_MARK = re.compile(r"^={9} ?", re.M)
_HEADS: tuple[tuple[str, Verdict], ...] = (
    (r"Invalid (?P<space>\S+) (?P<what>\w+) of size", Verdict.MEMORY_ERROR),
    (r"(Invalid|Malloc/Free|Misaligned|Stack overflow)", Verdict.MEMORY_ERROR),
    (r"((Error|Warning|WARN|ERROR|WARNING): )?Race reported between", Verdict.RACE),
    (r"((Error|Warning): )?(Potential )?\w+ hazard detected", Verdict.RACE),
    (r"Barrier error detected", Verdict.RACE),
    (r"Program hit (?P<error>\w+)", Verdict.CRASH),
)
_PLACE = re.compile(r"(?P<file>[^\s():]+\.(?:cuh?|hpp|h)):(?P<line>\d+)")
_THREAD = re.compile(r"by thread (\([^)]*\)) in block (\([^)]*\))")


@dataclass(frozen=True)
class Report:
    """One thing that a tool found."""

    verdict: Verdict
    head: str  # the headline
    details: tuple[str, ...]  # the lines below it
    places: tuple[tuple[str, int], ...]  # (file, line), innermost first

    @property
    def thread(self) -> str:
        """By which thread; "" where it is not said."""
        found = _THREAD.search("\n".join(self.details))
        return f"thread {found[1]} of block {found[2]}" if found else ""

    @property
    def sentence(self) -> str:
        """In one line: what, how far outside, by whom."""
        words = [self.head.rstrip(". ")]
        for line in self.details:
            if line.startswith(
                ("Address", "Access", "and is", "and Read", "and Write")
            ):
                words.append(line.rstrip("."))
        return "; ".join([*words, *([self.thread] if self.thread else [])])


def find() -> str:
    """compute-sanitizer's path: PATH, or with nvcc; "" if there is none. No link: the
    sandbox need not have what a link leads through (/etc/alternatives).
    """
    usual = shutil.which("compute-sanitizer")
    if usual:
        return str(Path(usual).resolve())
    kit = gpu_probe.toolkit()
    if kit is None:
        return ""
    root = kit.nvcc.resolve().parents[1]
    places = [root / "bin", root / "compute-sanitizer"]
    found = (shutil.which(str(place / "compute-sanitizer")) for place in places)
    return next(filter(None, found), "")


def why_not() -> str:
    """Why these checks are left out here; "" if they are run."""
    wanted = os.environ.get(ENVIRONMENT, "")
    if wanted == "off":
        return f"{ENVIRONMENT}=off switches compute-sanitizer off"
    if not find():
        return "compute-sanitizer is not installed"
    if sandbox.level() != "bwrap" and wanted != "open":
        return (
            f"compute-sanitizer runs only inside bubblewrap. {ENVIRONMENT}=open runs "
            "it without bubblewrap"
        )
    return ""


@functools.cache
def not_started() -> str:
    """What it says where it cannot run a program of ours on the card; "" if it can."""
    kept = build_folder() / "sanitizer"
    kept.mkdir(parents=True, exist_ok=True)
    said = _output(TOOLS["gpu memory"][0], ["--card"], [], kept)
    if WORKS in said:
        return ""
    return f"compute-sanitizer does not start here: {_last(said)}"


def check(
    subject: Subject,
    cases: list[Case],
    direction: str,
    seed: int,
    announce: Tell = nobody,
) -> list[CheckResult]:
    """Both checks of a direction, none where they cannot be run; the first failure is
    the last word.
    """
    results: list[CheckResult] = []
    if why_not():
        return results
    if said := not_started():
        text = f"this check was not run: {said}"
        return [CheckResult(n, direction, Verdict.PASS, message=text) for n in TOOLS]
    for name, chosen in TOOLS.items():
        announce(name)
        results.append(_one(name, chosen, subject, cases, direction, seed))
        if results[-1].verdict is not Verdict.PASS:
            break
    return results


def _one(
    name: str,
    chosen: Sequence[str],
    subject: Subject,
    cases: Sequence[Case],
    direction: str,
    seed: int,
) -> CheckResult:
    wanted = under_cusim.asked(subject, list(cases), direction)
    sized = sorted(enumerate(wanted), key=lambda x: -subject.operator.elements(x[1]))
    few = sized[:FEW]
    end = time.monotonic() + BUDGET
    looked, findings = 0, list[Finding]()
    for i, case in few:
        if time.monotonic() > end or findings:
            break
        looked += 1
        for tool in chosen:
            found = _run(tool, subject, case, i, direction, seed)
            findings += [found] if found else []
    return summarize(name, direction, DTYPE, looked, findings[:1])


def _run(
    tool: str, subject: Subject, case: Case, i: int, direction: str, seed: int
) -> Finding | None:
    """One case under one tool."""
    made = prepare(subject, case, i, direction, DTYPE, seed)
    kept = build_folder() / "sanitizer"
    kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept) as name:
        try:
            memory = subject.worker(DTYPE).save(made.call, Path(name))
        except Stopped as stop:
            return stop.finding
        libraries = [path.resolve() for path in subject.libraries[DTYPE]]
        words: list[str | Path] = ["--replay", *libraries, *memory]
        said = _output(tool, words, libraries, memory[0].parent)
    if "returned status" not in said and not reports(said):
        text = f"compute-sanitizer could not run this case: {_last(said)}"
        return Finding(Verdict.SUSPECT, text, case.name)
    return first(said, case.name, subject.operator.name)


def _last(said: str) -> str:
    return short((said.strip().splitlines() or ["it printed nothing"])[-1], 200)


def command(tool: str, worker: Sequence[str | Path]) -> list[str]:
    """What runs the worker, told these words, under a tool."""
    words = [find(), "--tool", tool, "--print-limit", "20", "--error-exitcode", "0"]
    return [*words, *map(str, [tools() / gpu_probe.PROGRAM, *worker])]


def _output(
    tool: str, worker: Sequence[str | Path], libraries: Sequence[Path], folder: Path
) -> str:
    """What comes of it, in `folder`; the worker sees these libraries."""
    order = command(tool, worker)
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "LC_ALL": "C.UTF-8"}
    environment |= {**gpu_probe.environment(), "CONVLAB_EXACT": "1"}
    if sandbox.level() == "bwrap":
        # its own script, in bin, starts what lies in the folder beside
        root = Path(find()).parents[1]
        seen = [tools() / gpu_probe.PROGRAM, *libraries, root, *gpu_probe.seen()]
        order = sandbox.wrap_compiler(
            order,
            paths=seen,
            folders=[folder],
            start=folder,
            devices=gpu_probe.devices(),
        )
    try:
        done = subprocess.run(
            order,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=folder,
            timeout=DEADLINE,
        )
    except subprocess.TimeoutExpired as late:
        return clean((late.stdout or b"")[:KEPT])
    return clean(done.stdout[:KEPT])


# ---- its report ----------------------------------------------------------------------


def reports(text: str) -> list[Report]:
    """All that a tool found, in its order."""
    return list(_reports(text))


def _reports(text: str) -> Iterator[Report]:
    lines = [_MARK.sub("", line, count=1) for line in text.splitlines() if _said(line)]
    begins = [
        (n, verdict) for n, line in enumerate(lines) if (verdict := _verdict(line))
    ]
    ends = [n for n, _ in begins[1:]] + [len(lines)]
    for (start, verdict), end in zip(begins, ends):
        below = tuple(line.strip() for line in lines[start + 1 : end] if line.strip())
        whole = (lines[start], *below)
        places = tuple(
            (found["file"], int(found["line"]))
            for line in whole
            if not line.startswith("Host Frame") and (found := _PLACE.search(line))
        )
        yield Report(verdict, lines[start].strip(), below, places)


def _said(line: str) -> bool:
    return line.startswith("=========")


def _verdict(line: str) -> Verdict | None:
    for pattern, verdict in _HEADS:
        if re.match(pattern, line):
            return verdict
    return None


def first(text: str, case: str, operator: str) -> Finding | None:
    """The first report as a finding, with its line in a rung if it has one."""
    found = reports(text)
    if not found:
        return None
    report = found[0]
    shown = (_shown(place, operator) for place in report.places)
    place = next(filter(None, shown), None)
    sentence = sanitizer_report.with_source(report.sentence, place)
    return Finding(report.verdict, sentence, case, place)


def _shown(place: tuple[str, int], operator: str) -> str | None:
    """file:line from the repository's root, if it is a rung's: reports may name a file
    without its folders, which then is one of the operator's ladder.
    """
    file, line = Path(place[0]), place[1]
    folder = ROOT / "labs" / "04_cuda_kernels"
    if file.is_absolute():
        inside = file.is_relative_to(folder)
        return f"{file.relative_to(ROOT)}:{line}" if inside else None
    whole = ROOT / file
    if len(file.parts) > 1:
        return f"{file}:{line}" if whole.is_relative_to(folder) else None
    own = folder / operator / file.name
    return f"{own.relative_to(ROOT)}:{line}" if own.exists() else None
