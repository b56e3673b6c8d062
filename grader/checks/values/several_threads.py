# SPDX-License-Identifier: MIT
"""Checks the values of rungs that start threads, with one, two and three threads.

There are a few cases, and their work does not divide evenly among the threads. They run
on all cores, in a separate worker.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace

import torch

from grader.checks.check_result import CheckResult, Finding, Stopped, summarize
from grader.checks.subject import Subject
from grader.checks.values.compare import Expected, judge
from grader.checks.values.prepared import expected_of, prepare
from grader.operators import Case
from grader.runner.supervisor.call import REFUSE_SHIFT, Call, Run
from grader.runner.supervisor.cores import pin
from grader.verdicts import Verdict

DTYPE = "f32"
TEAMS = (1, 2, 3, 3, 2)  # threads of each call; another try may end in another order
REFUSED = (1, 2)  # requests for scratch memory
WRONG = {"forward": Verdict.WRONG_VALUE, "backward": Verdict.WRONG_GRADIENT}


def check(
    subject: Subject, direction: str, seed: int, *, same_bits: bool
) -> CheckResult:
    """The operator's cases for threads. `same_bits`: the rung promises that its results
    do not depend on the number of threads.
    """
    cases = subject.operator.thread_cases()
    findings: list[Finding] = []
    team = Subject(subject.operator, libraries=subject.libraries)
    subject.judges(team)
    covered = 0
    with closing(team):
        try:
            _start(team)
            for case in cases:
                covered += _case(team, case, direction, seed, findings, same_bits)
        except Stopped as stop:
            findings.insert(0, stop.finding)
    result = summarize("threads", direction, DTYPE, covered or len(cases), findings)
    if covered or result.verdict is not Verdict.PASS:
        return result
    text = "covers none of the cases of the check of threads"
    return replace(result, verdict=Verdict.NOT_IMPLEMENTED, message=text)


def _start(team: Subject) -> None:
    """Its worker has a core for each thread, if there are so many."""
    pin(max(TEAMS))
    try:
        team.worker(DTYPE)
    finally:
        pin(1)


def _case(
    team: Subject,
    case: Case,
    direction: str,
    seed: int,
    findings: list[Finding],
    same_bits: bool,
) -> bool:
    """One case with each number of threads: at most one more of the findings. False if
    the rung leaves the whole case.
    """
    made = prepare(team, case, 0, direction, DTYPE, seed)
    right: dict[int, Expected] = {}
    alone: dict[int, torch.Tensor] = {}
    for threads in TEAMS:
        made.call.request.threads = threads
        finding = team.run(made.call, case, DTYPE)
        right = right or expected_of(team, case, made, direction)
        finding = finding or _wrong(team, made.call, right, direction)
        if not finding and not alone:
            alone = {k: _result(made.call, k).clone() for k in right}
        if not finding and same_bits:
            finding = _differs(made.call, alone, right, direction)
        if finding:
            many = f"with {threads} thread{'s' * (threads > 1)}: {finding.message}"
            found = Finding(finding.verdict, many, case.name, finding.location)
            findings.append(found)
            return True
    _without_memory(team, case, made.call)
    return bool(right)


def _without_memory(team: Subject, case: Case, call: Call) -> None:
    """A refused request that is not noticed ends threads on a pointer beside NULL."""
    bits = call.request.run | Run.NO_SCRATCH
    call.request.threads = max(TEAMS)
    for request in REFUSED:
        call.request.run = bits | request << REFUSE_SHIFT
        try:
            team.run(call, case, DTYPE)  # its values are asked for with one thread
        except Stopped as stop:
            text = (
                f"{stop.finding.message}; ctx_scratch returned NULL for request "
                f"{request}"
            )
            raise Stopped(replace(stop.finding, message=text)) from None


def _result(call: Call, k: int) -> torch.Tensor:
    tensor = call.tensors[k]
    assert tensor is not None
    return tensor


def _wrong(
    team: Subject, call: Call, right: Mapping[int, Expected], direction: str
) -> Finding | None:
    """The first result that is wrong."""
    for k, wanted in right.items():
        found = judge(call, k, wanted, names=team.names(), wrong=WRONG[direction])
        if found:
            return found
    return None


def _differs(
    call: Call,
    alone: Mapping[int, torch.Tensor],
    right: Mapping[int, Expected],
    direction: str,
) -> Finding | None:
    """The first result that is not, bit for bit, that of one thread."""
    for k, one in alone.items():
        if not torch.equal(_result(call, k), one):
            count = int((_result(call, k) != one).sum())
            return Finding(
                WRONG[direction],
                f"{count} of {one.numel()} elements of '{right[k].name}' differ by "
                "rounding from the result of one thread. A comment of the file "
                "promises the same result, bit for bit. Do not split a sum by the "
                "number of threads",
            )
    return None
