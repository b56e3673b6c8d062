# SPDX-License-Identifier: MIT
"""Checks rungs with OpenMP for data races between the threads of a region.

The rung is compiled with -fsanitize=thread. `worker-races` runs it, and its own OpenMP
lets one thread run at a time. The compiler reports every access to it (races.h). So a
race is found even if it changes no number. If a rung calls a function that this OpenMP
lacks, the result names the function. The rung is not checked then, and it loses no
points. The same holds for threads that a rung starts without OpenMP.
"""

from __future__ import annotations

import contextlib
import functools
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from grader.checks.check_result import (
    NONSENSE,
    CheckResult,
    Finding,
    Stopped,
    summarize,
)
from grader.checks.memory import sanitizer_report
from grader.checks.subject import Subject
from grader.checks.values.prepared import prepare
from grader.course.foreign import clean
from grader.operators import Case
from grader.runner.supervisor.session import Outcome, Worker
from grader.toolchain.make import build_folder, races_missing
from grader.toolchain.products import Build
from grader.toolchain.symbols import OPENMP, symbols
from grader.verdicts import Verdict

NAME = "races"
DTYPE = "f32"
PROGRAM = "worker-races"
THREADS = 3
ORDERS = 2  # in which the threads run: each call takes the other one
BUDGET = 2.0  # seconds on a core for one direction; cases beyond are left out
SLOWER = 10  # than the same code where nobody watches
OURS = (*OPENMP, "__tsan_")  # how names begin
STARTS = {"pthread_create", "thrd_create", "clone"}  # threads besides OpenMP's
WRITE, ATOMIC, ASKS = 1, 2, 4  # bits of what an access does
ASK = (
    "two threads call ctx_scratch, and nothing orders the two calls. Let one thread "
    "call it at a time (omp critical), or call it before the threads start"
)
STUCK = b"the threads of a region wait for each other"
UNSEEN = "races were not checked: "
OWN = (
    "give each thread its own memory, or order the accesses: reduction, critical, "
    "atomic, or a barrier between the two"
)


class InTurns(Subject):
    """A rung in its build for this check."""

    program = PROGRAM

    def _ended(
        self, worker: Worker, outcome: Outcome, case: str, limit: float
    ) -> Finding:
        if STUCK in worker.output:  # region.c's words
            return Finding(
                Verdict.TIMEOUT, f"does not end, because {STUCK.decode()}", case
            )
        return super()._ended(worker, outcome, case, limit)


@dataclass(frozen=True)
class Access:
    """One of the two sides of a race."""

    kind: int
    thread: int
    place: str  # file:line, "" if it is in no rung

    @property
    def words(self) -> str:
        """What was done, where and by whom."""
        done = "changed by an atomic operation" if self.kind & ATOMIC else "written"
        done = done if self.kind & WRITE else "read"
        where = f" in {self.place}" if self.place else ""
        return f"{done}{where} by thread {self.thread}"


def missing() -> str:
    """Why there is no such check on this machine; "" if there is one."""
    return _missing(build_folder())


@functools.cache
def _missing(folder: Path) -> str:
    """The same for a build folder, in which the worker lies."""
    return races_missing()


def unknown(library: Path) -> str:
    """The first function that a library calls and nobody here has; "" if there is none.
    Beside the compiler's own these come from the C library.
    """
    watched = symbols(build_folder() / "tools" / PROGRAM)[0]
    return min(
        (name for name in symbols(library)[1] - watched if name.startswith(OURS)),
        default="",
    )


def started(library: Path, direction: str) -> CheckResult | None:
    """What is said of a library that starts threads itself: nobody watches those."""
    name = min(symbols(library)[1] & STARTS, default="")
    if not name:
        return None
    reason = f"the code calls {name}, and this check sees only the threads of OpenMP"
    return _unseen(direction, reason)


def check(judged: Subject, built: Build, direction: str, seed: int) -> CheckResult:
    """The operator's cases for threads, as many as the budget allows. `built` is the
    build for this check of the rung that was `judged`.

    What could not be looked at is no fault: the result is PASS, and says so.
    """
    if reason := missing() or built.error or built.forbidden or built.blocked:
        return _unseen(direction, reason)
    if name := unknown(built.libraries[DTYPE]):
        return _unseen(direction, f"the code calls {name}, which this check cannot run")
    own = built.libraries[DTYPE]
    subject = InTurns(judged.operator, libraries={DTYPE: (own, own)})
    with closing(judged.judges(subject)):
        return _look(subject, direction, seed)


def _unseen(direction: str, reason: str) -> CheckResult:
    """Nothing was looked at."""
    return CheckResult(NAME, direction, Verdict.PASS, DTYPE, message=UNSEEN + reason)


def _look(subject: InTurns, direction: str, seed: int) -> CheckResult:
    """The cases up to the first with a race."""
    cases = subject.operator.thread_cases()
    findings: list[Finding] = []
    looked, unfinished = 0, ""
    end = subject.cpu_seconds() + BUDGET
    subject.begin()
    for case in cases:
        if subject.cpu_seconds() > end:
            unfinished = "the time of this check is over"
            break
        try:
            findings += _case(subject, case, direction, seed)
            looked += 1
        except Stopped as stop:
            unfinished = f"{stop.finding.case} {stop.finding.message}"
        if findings or unfinished:
            break
    result = summarize(NAME, direction, DTYPE, looked, findings)
    if findings or not unfinished:
        return result
    if not looked:
        return _unseen(direction, unfinished)
    said = f"checked {looked} of {len(cases)} cases: {unfinished}"
    return replace(result, message=said)


def _case(subject: InTurns, case: Case, direction: str, seed: int) -> list[Finding]:
    """One case, its threads in each order; at most one finding."""
    call = prepare(subject, case, 0, direction, DTYPE, seed).call
    call.request.threads = THREADS
    call.limit *= SLOWER
    for _ in range(ORDERS):
        finding = subject.run(call, case, DTYPE)
        if finding:  # it was right before: this says nothing of races
            raise Stopped(finding)
        if found := read(subject.worker(DTYPE), case.name, subject.names()):
            return [found]
    return []


# ---- the report ----------------------------------------------------------------------


def read(worker: Worker, case: str, names: list[str]) -> Finding | None:
    """A race of the last call, by the worker's report: the first whose two lines are
    known, else the first. Student code runs in the worker and could write there too: it
    costs points, and nothing passes by it.
    """
    library = worker.libraries[worker.reply.direction == 1]
    first = None
    for line in clean(bytes(worker.reply.report)).splitlines():
        with contextlib.suppress(*NONSENSE):
            word, address, *sides = line.split()
            if word != "race" or len(sides) != 6:
                continue
            pair = _access(library, sides[:3]), _access(library, sides[3:])
            found = _worded(worker, case, names, int(address, 16), pair)
            if all(side.place for side in pair):
                return found
            first = first or found
    return first


def _access(library: Path, words: list[str]) -> Access:
    """A side of a race: what it does, its thread, and where its call returns to."""
    offset = int(words[2], 16) - 1
    rungs = (
        str(place)
        for place in sanitizer_report.places(library, [offset])
        if not place.file.startswith("common/")
    )
    return Access(int(words[0]), int(words[1]), next(rungs, ""))


def _worded(
    worker: Worker,
    case: str,
    names: list[str],
    address: int,
    pair: tuple[Access, Access],
) -> Finding:
    """A race in words."""
    writers = sorted(pair, key=lambda side: side.kind & WRITE, reverse=True)
    place = next((side.place for side in writers if side.place), None)
    name = sanitizer_report.tensor_at(worker, address, names)
    where = f"'{name}'" if name else "memory"
    text = (
        f"two threads use the same word of {where}, at least one writes, and nothing "
        f"orders them: {OWN} ({pair[0].words}; {pair[1].words})"
    )
    if pair[0].kind & ASKS:
        text = ASK
    return Finding(Verdict.RACE, sanitizer_report.with_source(text, place), case, place)
