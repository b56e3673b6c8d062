# SPDX-License-Identifier: MIT
"""Checks a rung without scratch memory: it must return STATUS_NO_MEMORY or be right.

A rung that calls ctx_scratch must check the returned pointer. Some cases run again with
every request refused. Then they run with one refused request at a time.
"""

from __future__ import annotations

from dataclasses import replace

from grader.checks.check_result import CheckResult, Finding, Stopped, summarize
from grader.checks.subject import Subject
from grader.checks.values.compare import Expected, judge
from grader.checks.values.prepared import expected_of, prepare
from grader.operators import Case
from grader.runner.supervisor.call import REFUSE_SHIFT, Call, Run
from grader.runner.supervisor.wire import STATUS_NO_MEMORY
from grader.verdicts import Verdict

STRIDED = 6  # cases with views, whose copies want memory
DENSE = 4  # and large ones without: small ones may be left
REQUESTS = 6  # of a call that are refused alone
ALL = 0  # in place of a request's number


def check(
    subject: Subject, cases: list[Case], direction: str, seed: int
) -> CheckResult:
    """A few cases of one direction."""
    chosen = _chosen(subject, cases, direction)
    findings: list[Finding] = []
    subject.begin()
    try:
        for case in chosen:
            findings += _case(subject, case, direction, seed)
    except Stopped as stop:
        findings.insert(0, stop.finding)
    return summarize("no_memory", direction, _dtype(subject), len(chosen), findings)


def _chosen(subject: Subject, cases: list[Case], direction: str) -> list[Case]:
    """Strided ones, and on the CPU the largest of the others."""
    wanted = [case for case in cases if subject.asks(case, direction)]
    strided = [case for case in wanted if case.layout][:STRIDED]
    if subject.on_device:
        return strided
    dense = [case for case in wanted if not (case.layout or case.large)]
    return [*strided, *sorted(dense, key=subject.operator.elements)[-DENSE:]]


def _dtype(subject: Subject) -> str:
    """Double, but of a file that may cover less there."""
    return subject.dtypes[0 if subject.covers else -1]


def _case(subject: Subject, case: Case, direction: str, seed: int) -> list[Finding]:
    """One case: all requests refused, then each alone; at most one finding."""
    dtype = _dtype(subject)
    made = prepare(subject, case, 0, direction, dtype, seed)
    bits = made.call.request.run | Run.NO_SCRATCH
    right: dict[int, Expected] = {}
    for request in range(ALL, REQUESTS + 1):
        made.call.request.run = bits | request << REFUSE_SHIFT
        finding = _run(subject, case, made.call, request, dtype)
        reply = subject.worker(dtype).reply
        if finding:
            return [finding]
        if reply.status == STATUS_NO_MEMORY:
            continue
        right = right or expected_of(subject, case, made, direction)
        if any(judge(made.call, k, e, names=subject.names()) for k, e in right.items()):
            return [_unnoticed(case, request)]
        if reply.asked <= request:  # no more were made
            break
    return []


def _run(
    subject: Subject, case: Case, call: Call, request: int, dtype: str
) -> Finding | None:
    """What went wrong with a call; None also where it says that there is no memory."""
    try:
        finding = subject.run(call, case, dtype)
    except Stopped as stop:
        raise Stopped(_refused(stop.finding, request)) from None
    if finding and subject.worker(dtype).reply.status != STATUS_NO_MEMORY:
        return _refused(finding, request)
    return None


def _refused(finding: Finding, request: int) -> Finding:
    """The same, with what came before it; a pointer that was not looked at is used."""
    text = f"{finding.message}; {_gave(request)}"
    if finding.verdict in (Verdict.CRASH, Verdict.MEMORY_ERROR):
        text += ": return STATUS_NO_MEMORY if ctx_scratch or a helper returns NULL"
    return replace(finding, message=text)


def _gave(request: int) -> str:
    """What ctx_scratch did."""
    which = "every request" if request == ALL else f"request {request}"
    return f"ctx_scratch returned NULL for {which}"


def _unnoticed(case: Case, request: int) -> Finding:
    text = (
        f"{_gave(request)}, and the function returned STATUS_OK with a wrong result: "
        "return STATUS_NO_MEMORY instead"
    )
    return Finding(Verdict.WRONG_VALUE, text, case.name)
