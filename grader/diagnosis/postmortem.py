# SPDX-License-Identifier: MIT
"""Finds the line and the loop turns of a crash: it runs the failing case under gdb.

After a crash of a rung in C its failing case runs again, built with -O0 -g. gdb starts
the worker: the same worker in the same sandbox, with the same input. gdb stops at the
fault, prints the call chain with all variables, and ends. If a sanitizer found the
fault, its build runs again and stops at its report. An endless loop is stopped after a
while. The student reads the line and the loop indices. If nothing is found (no gdb, or
no second crash), the result stays unchanged.
"""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.checks import named_mistakes
from grader.checks.check_result import CheckResult, Stopped
from grader.checks.memory import access, sanitizer_report
from grader.checks.subject import Subject
from grader.checks.values.prepared import prepare
from grader.course.foreign import THE_LINE, clean
from grader.course.rungs import ROOT, Rung
from grader.runner.supervisor.call import Run
from grader.runner.supervisor.session import Outcome, Worker
from grader.runner.supervisor.wire import TAG_UNWRITTEN
from grader.toolchain.products import SANITIZE, Build
from grader.verdicts import Verdict

FATAL = (Verdict.CRASH, Verdict.MEMORY_ERROR, Verdict.TIMEOUT, Verdict.LIMIT)
PATIENCE = 10.0  # seconds for one run under gdb
PRINTING = 3.0  # and for gdb to print a stopped one
STUCK = 2.0  # seconds after which an endless loop is looked at
GONE = "?ZX"  # a process that has ended, as the kernel tells it
SHOWN = 10  # variables
POISON = 0x5A5A0000  # of an int32, with a tag in its low half (protocol.h)
LARGEST = 1 << 40  # an index beyond is a variable that was never set

SETTINGS = (
    *("auto-load off", "debuginfod enabled off", "startup-with-shell off"),
    *("disable-randomization off", "width 0", "print frame-arguments all"),
    *("print elements 4", "print frame-info source-and-location"),
    "environment ASAN_OPTIONS=abort_on_error=1",
    "environment UBSAN_OPTIONS=abort_on_error=1",
)
GDB = (
    *("gdb", "-q", "-nx", "-nh", "-batch"),
    *(word for one in SETTINGS for word in ("-iex", f"set {one}")),
    *("-ex", "run", "-ex", "backtrace -full 16", "--args"),
)

_FRAME = re.compile(
    r"^#\d+ +(?:0x[0-9a-f]+ in )?(?P<function>\w+) \((?P<arguments>.*)\) at "
    r"(?P<file>.+):(?P<line>\d+)$"
)
_LOCAL = re.compile(r"^ +(?P<name>[A-Za-z_]\w*) = (?P<value>-?\d+)$")
_ARGUMENT = re.compile(r"(?:^|, )([A-Za-z_]\w*)=(-?\d+)(?=,|$)")
_NO_INDEX = re.compile(r"\b(?:real|accum|float|double)\s+(\w+)")
_SET = re.compile(r"\b(\w+)\s*[-+*]?=(?!=)")
_LOOP = re.compile(r"\bfor\s*\(\s*(?:\w+\s+)*\*?(\w+)\s*=")


@dataclass(frozen=True)
class Frame:
    """One function of the call chain, in the student's file."""

    location: str
    numbers: dict[str, int]  # arguments and locals that are integers
    arguments: frozenset[str]


def explain(
    rung: Rung,
    subject: Subject,
    result: CheckResult,
    seed: int,
    build: Callable[..., Build],
) -> CheckResult:
    """The result of a check that died, with file:line, the line and loop indices.

    `subject` is what was checked: a direction that the rung does not define runs from
    the library it had there; `build` makes the rung in another `mode`.
    """
    wanted = result.verdict in FATAL and result.replay and not subject.python
    if not wanted or not shutil.which("gdb"):
        return result
    cases = subject.operator.cases(seed)
    numbers = [i for i, case in enumerate(cases) if case.name == result.replay]
    if not numbers or rung.file.suffix != ".c":
        return result
    for mode in _modes(result):
        built = build(rung, mode=mode)
        if not built.libraries:
            continue
        frames = _again(rung, built, mode, subject, result, numbers[0], seed)
        if frames:
            return _with_frames(result, rung, frames, subject.names())
    return result


def _modes(result: CheckResult) -> tuple[str, ...]:
    """How the rung is built for this: what shows the most comes first."""
    if result.verdict is Verdict.TIMEOUT:
        return ("debug",)
    if THE_LINE in result.message:
        return (SANITIZE,)
    return ("debug", "release")  # unoptimised, it may not crash


def _with_frames(
    result: CheckResult, rung: Rung, frames: list[Frame], names: Sequence[str]
) -> CheckResult:
    """The result with what gdb found. A sanitizer's line stays the truth."""
    reported, location = result.location, frames[0].location
    if THE_LINE in result.message:
        if reported != location:
            return result
        message = result.message
    else:
        message = sanitizer_report.with_source(result.message, location)
    where = indices(rung, frames)
    message = f"{message}, with {where}" if where else message
    result = dataclasses.replace(result, message=message, location=location)
    return _unwritten(result, frames[0].numbers, names)


def _unwritten(
    result: CheckResult, numbers: Mapping[str, int], names: Sequence[str]
) -> CheckResult:
    """The result with what is said of indices that nobody has written: each element of
    a result holds the number of its tensor until it gets a value (poison.h).
    """
    tags = {name: value ^ POISON for name, value in numbers.items()}
    owners = {name: tag - TAG_UNWRITTEN for name, tag in tags.items()}
    found = {name: names[at] for name, at in owners.items() if 0 <= at < len(names)}
    if not found:
        return result
    (owner, *_), mistake = found.values(), result.mistake
    text = f"an element of '{owner}' was never written and is used as "
    text += " and ".join(found)
    if owner == "rulebook":
        mistake = named_mistakes.ROWS_BEHIND_THE_COUNT
        text += (
            ": kernel position k has only count[k] pairs, and the rows after them "
            "hold no pair"
        )
    return dataclasses.replace(result, diagnosis=text, mistake=mistake)


def indices(rung: Rung, frames: list[Frame]) -> str:
    """oh=3 ow=7 kh=2 kw=0: loop variables and arguments, the outermost first.

    Also what else stands on the faulting line. Capitals are sizes and left out.
    """
    text = rung.file.read_text(encoding="utf-8", errors="replace")
    loops = set(_LOOP.findall(text))
    line = sanitizer_report.source(frames[0].location)
    used = set(re.findall(r"\w+", line)) - set(_NO_INDEX.findall(text))
    used -= set(_SET.findall(line)) - loops  # not set yet
    shown: dict[str, int] = {}
    for n, frame in reversed(list(enumerate(frames))):
        for name in sorted(
            frame.numbers, key=lambda name: _declared(text, frame, name)
        ):
            wanted = name in loops or (n == 0 and name in used | frame.arguments)
            if wanted and not name.isupper() and abs(frame.numbers[name]) < LARGEST:
                shown.pop(name, None)
                shown[name] = frame.numbers[name]
    kept = list(shown.items())[-SHOWN:]
    return " ".join(f"{name}={value}" for name, value in kept)


def _declared(text: str, frame: Frame, name: str) -> int:
    """Where in the file a variable was given its first value: outer ones come first."""
    if name in frame.arguments:
        return 0
    end = int(frame.location.rpartition(":")[2])
    before = "\n".join(text.split("\n")[:end])
    found = [m.start() for m in re.finditer(rf"\b{name}\s*=(?!=)", before)]
    return found[-1] if found else len(before)


# ---- the second run ------------------------------------------------------------------


def _again(
    rung: Rung,
    built: Build,
    mode: str,
    subject: Subject,
    result: CheckResult,
    i: int,
    seed: int,
) -> list[Frame]:
    """The case once more under gdb: the student's frames, innermost first."""
    dtype = result.dtype if result.dtype in built.libraries else "f32"
    program = access.PROGRAM if mode == SANITIZE else "worker"
    stuck = result.verdict is Verdict.TIMEOUT
    libraries = {dtype: (built.libraries[dtype], built.libraries[dtype])}
    again = subject.judges(Subject(subject.operator, libraries=libraries))
    again.program = program
    case = subject.operator.cases(seed)[i]
    made = prepare(again, case, i, result.direction, dtype, seed)
    if result.name == "no_memory":
        made.call.request.run |= Run.NO_SCRATCH
    made.call.request.freeze = 0  # gdb is what could be stopped, not the worker
    made.call.request.deadline_ns = int((STUCK if stuck else PATIENCE) * 1e9)
    worker = Worker.for_library(
        *libraries[dtype], subject.number, program=program, under=GDB
    )
    try:
        if worker.wait_ready() is Outcome.RETURNED and not worker.reply.status:
            outcome = worker.run(made.call)
            if outcome is Outcome.RETURNED:  # what it left behind may end the next
                outcome = worker.run(made.call)
            if outcome is Outcome.TIMEOUT and stuck:
                _interrupt(worker)
    except Stopped:
        return []
    finally:
        worker.end()
        again.close()
    return frames(worker.output.decode(errors="replace"), rung)


def _interrupt(worker: Worker) -> None:
    """Let gdb stop the worker and print where it is."""
    for child in worker.children():
        try:
            os.kill(child, signal.SIGSTOP)  # the one signal that cannot be blocked
        except OSError:
            return
    end = time.monotonic() + PRINTING
    while worker.state not in GONE and time.monotonic() < end:
        time.sleep(0.02)


def frames(printed: str, rung: Rung) -> list[Frame]:
    """The student's part of what gdb printed."""
    found: list[Frame] = []
    mine = False
    for text in clean(printed.encode().replace(b"\0", b"?")).splitlines():
        if match := _FRAME.match(text):
            file = str(Path(match["file"]).resolve()).removeprefix(f"{ROOT}/")
            mine = file == rung.shown
            if mine:
                values = _ARGUMENT.findall(match["arguments"])
                numbers = {name: int(value) for name, value in values}
                at = f"{file}:{match['line']}"
                found.append(Frame(at, numbers, frozenset(numbers)))
        elif text.startswith("#"):
            mine = False
        elif mine and (match := _LOCAL.match(text)):
            found[-1].numbers.setdefault(match["name"], int(match["value"]))
    return found
