# SPDX-License-Identifier: MIT
"""Runs the cases again with sanitizers, to find wrong accesses to memory.

The rung is built with AddressSanitizer and UBSan, for float. A separate worker runs it
(sanitized.h). An access outside a tensor, a scratch block or a local array ends the
call, with its line. So does the use of freed memory, and an overflow. Arithmetic on
memory that nobody wrote does not end the call. Its line is noted, and it is reported if
the result is wrong.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools

from grader.checks.check_result import CheckResult, Finding, Stopped, summarize
from grader.checks.memory import sanitizer_report
from grader.checks.subject import Subject
from grader.checks.values.compare import judge
from grader.checks.values.prepared import expected_of, prepare
from grader.operators import Case
from grader.runner.supervisor import wire
from grader.runner.supervisor.call import Call
from grader.runner.supervisor.session import Outcome, Worker
from grader.toolchain.make import sanitizers_missing
from grader.toolchain.products import Build
from grader.verdicts import Verdict

DTYPE = "f32"
PROGRAM = "worker-asan"
BUDGET = 10.0  # seconds on a core for one direction; cases beyond are left out
LOOK = 8.0  # seconds to find the line of one failure
SLOWER = 4  # than the same code without sanitizers

EXIT_CODE = 99  # of a process that a sanitizer ends (sanitized.c)
_UNTOLD = (
    f"ended with exit code {EXIT_CODE}. A sanitizer ends a process so, but its report "
    "is missing. Leave descriptor 2 (stderr) open, and do not write to it"
)
_REPORTED = (Verdict.MEMORY_ERROR, Verdict.CRASH, Verdict.GRADER)
_SAID = (  # by compare.py
    "never written",
    "never set to zero",
    "memory between the elements",
)
_WORTH_A_LOOK = (
    Verdict.CRASH,
    Verdict.MEMORY_ERROR,
    Verdict.WRONG_VALUE,
    Verdict.WRONG_GRADIENT,
    Verdict.INCOMPLETE,
)


@functools.cache
def missing() -> str:
    """Why there is no memory check on this machine; "" if there is one."""
    return sanitizers_missing()


class Watched(Subject):
    """A rung in its sanitized build."""

    program = PROGRAM

    def _ended(
        self, worker: Worker, outcome: Outcome, case: str, limit: float
    ) -> Finding:
        if outcome is Outcome.DIED:
            found = sanitizer_report.read(worker, case, self.names())
            if found:
                return found
            if b"failed to allocate" in worker.output:
                sentence = "ran out of memory in the build with sanitizers"
                return Finding(Verdict.LIMIT, sentence, case)
            if not worker.death.signal and worker.death.code == EXIT_CODE:
                return Finding(Verdict.MEMORY_ERROR, _UNTOLD, case)
        return super()._ended(worker, outcome, case, limit)


def watched(subject: Subject, built: Build) -> Watched:
    """The subject of this check: close it when done. `built` is the build in mode
    sanitize of the rung that `subject` is.
    """
    own = built.libraries[DTYPE]
    return subject.judges(Watched(subject.operator, libraries={DTYPE: (own, own)}))


def check(
    subject: Watched, cases: list[Case], direction: str, seed: int
) -> CheckResult:
    """All cases of one direction, as many as the budget allows.

    A rung whose results are right fails for a report only: being too slow or too large
    with sanitizers is no fault, and the message says how many cases were left out. But
    what was not looked at is not passed: if no case came to its end the verdict is
    SUSPECT, and GRADER if the worker does not run at all.
    """
    findings: list[Finding] = []
    unfinished: list[str] = []
    subject.begin()
    end = subject.cpu_seconds() + BUDGET
    wanted = [
        (i, case) for i, case in enumerate(cases) if subject.asks(case, direction)
    ]
    looked = 0
    for i, case in wanted:
        if subject.cpu_seconds() > end:
            unfinished.append("the time of this check is over")
            break
        try:
            findings += _case(subject, case, i, direction, seed, failed=False)
            looked += 1
        except Stopped as stop:
            if stop.finding.verdict in _REPORTED:
                findings.insert(0, stop.finding)
                looked += 1
                break
            unfinished.append(f"{case.name} {stop.finding.message}")
    result = summarize("memory", direction, DTYPE, looked, findings)
    if findings or not unfinished:
        return result
    said = f"checked {looked} of {len(wanted)} cases: {unfinished[0]}"
    verdict = Verdict.PASS if looked else Verdict.SUSPECT
    return dataclasses.replace(result, verdict=verdict, message=said)


def locate(subject: Watched, result: CheckResult, seed: int) -> CheckResult:
    """A failed check's result, with the line and the buffer if a sanitizer finds them.

    The failing case is run once more. A report of the sanitizers takes the place of
    the message and the verdict; the line where memory that nobody wrote came in is
    added to the message.
    """
    cases = {c.name: (i, c) for i, c in enumerate(subject.operator.cases(seed))}
    if result.verdict not in _WORTH_A_LOOK or result.replay not in cases:
        return result
    if result.name == "no_memory":  # here there is scratch memory
        return result
    subject.begin(LOOK)
    i, case = cases[result.replay]
    try:
        findings: list[Finding] = []
        for _ in range(2):  # the second call finds what the first one left behind
            findings = _case(subject, case, i, result.direction, seed, failed=True)
            if findings and findings[0].location:
                break
    except Stopped as stop:
        if not stop.finding.location:
            return result
        return dataclasses.replace(
            result,
            verdict=stop.finding.verdict,
            message=f"{case.name}: {stop.finding.message}",
            location=stop.finding.location,
        )
    if not findings or not findings[0].location:
        return result
    found = findings[0]
    said = any(words in result.message for words in _SAID)
    message = f"{result.message}; the code {found.message}"
    if said:
        message = sanitizer_report.with_source(result.message, found.location)
    return dataclasses.replace(result, message=message, location=found.location)


# ---- one case ------------------------------------------------------------------------


def _case(
    subject: Watched, case: Case, i: int, direction: str, seed: int, *, failed: bool
) -> list[Finding]:
    """One case; at most one finding. The values were judged before: again only if it
    had `failed` then, or if something was computed from memory that nobody wrote.
    """
    made = prepare(subject, case, i, direction, DTYPE, seed)
    call = made.call
    call.limit *= SLOWER
    finding = subject.run(call, case, DTYPE)
    if finding and finding.verdict is not Verdict.MEMORY_ERROR and not failed:
        raise Stopped(finding)  # an error that the fast build does not return
    if finding:
        return [finding] if finding.verdict is Verdict.MEMORY_ERROR else []
    sides = call.request.side[wire.SIDE_TENSORS :]
    odd = any(side.tainted or side.unwritten for side in sides if side.present)
    if not (failed or odd or any(note[0] for note in _notes(subject))):
        return []
    for k, expected in expected_of(subject, case, made, direction).items():
        wrong = judge(call, k, expected, names=subject.names())
        if wrong:
            return [_noted(subject, call, k, case, wrong, failed=failed)]
    return []


def _notes(subject: Watched) -> list[list[int]]:
    """What the worker noted of a call: a tag each, 0 for none, then addresses. Student
    code could write there too: a line that is no note is left out.
    """
    found = []
    for line in subject.worker(DTYPE).notes.split("\n"):
        with contextlib.suppress(ValueError):
            found.append([int(word, 16) for word in line.split()])
    return [note for note in found if note]


def _noted(
    subject: Watched, call: Call, k: int, case: Case, wrong: Finding, *, failed: bool
) -> Finding:
    """A wrong result: the line where memory that nobody wrote came in, if one did."""
    worker, names = subject.worker(DTYPE), subject.names()
    taint = call.request.side[wire.SIDE_TENSORS + k].taint
    nan = bool(taint) or "is nan" in wrong.message
    notes = [note for note in _notes(subject) if nan and note[0] == taint]
    if not notes:
        where = "" if failed else ", but the result of the fast build is right"
        return Finding(Verdict.MEMORY_ERROR, f"{wrong.message}{where}", case.name)
    tag, *addresses = notes[0]
    library = worker.libraries[worker.reply.direction == 1]
    at = sanitizer_report.student_line(worker, [(library, a) for a in addresses])
    text = sanitizer_report.with_source(_computes(tag, names), at)
    return Finding(Verdict.MEMORY_ERROR, text, case.name, at)


def _computes(tag: int, names: list[str]) -> str:
    """What arithmetic with a tag means."""
    owner, kind = tag & 0xFFF, tag & 0xF000
    name = names[owner] if owner < len(names) else ""
    return {
        0: "computes a value that is not defined, such as 0/0, inf/inf, inf - inf, "
        "0 * inf, or the root of a negative number",
        wire.TAG_SCRATCH: "computes with scratch memory that was never written",
        wire.TAG_LOCAL: "computes with a local variable that was never set",
        wire.TAG_UNWRITTEN: f"computes with '{name}' before anything was written to it",
        wire.TAG_OUTSIDE: f"computes with memory between the elements of '{name}'",
    }.get(kind, "computes with memory that was never written")
