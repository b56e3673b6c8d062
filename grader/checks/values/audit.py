# SPDX-License-Identifier: MIT
"""Checks in lab 01 that a file uses only allowed primitives and needed gradients.

The worker notes which ATen operators run, and which gradients backward returns without
need. Both are only the worker's claims (`self_reported`). They can cost points, but
they prove nothing.
"""

from __future__ import annotations

from grader.checks.check_result import CheckResult, Finding, Stopped, summarize
from grader.checks.subject import DTYPES, Subject
from grader.checks.values.forward import deadline, timed
from grader.checks.values.gradient import room_for
from grader.operators import Case
from grader.runner.supervisor.call import Output, Run
from grader.verdicts import Verdict

CASES = 3  # the first of the file; backward also every case that wants some gradients
DTYPE = "f64"


def check(
    subject: Subject, cases: list[Case], direction: str, seed: int
) -> CheckResult:
    """A few cases of one direction, with notes taken."""
    backward = direction == "backward"
    asked = [case for case in cases if subject.operator.asks(case, direction)]
    chosen = [
        case
        for i, case in enumerate(asked)
        if i < CASES or (backward and case.wanted is not None)
    ]
    findings: list[Finding] = []
    subject.begin()
    try:
        for case in chosen:
            findings += _case(subject, case, seed, backward=backward)
    except Stopped as stop:
        findings.insert(0, stop.finding)
    count = len(chosen)
    return summarize("audit", direction, DTYPE, count, findings, self_reported=True)


def _case(subject: Subject, case: Case, seed: int, *, backward: bool) -> list[Finding]:
    operator, kind = subject.operator, DTYPES[DTYPE]
    inputs = operator.inputs(case, kind, seed)
    results, seconds = timed(lambda: operator.outputs(inputs, case))
    limit = 3 * deadline(seconds)
    room: list[Output | None] = [Output(tuple(r.shape), kind) for r in results]
    run = Run.FORWARD | Run.AUDIT
    grads = []
    if backward:
        run |= Run.BACKWARD
        room = room_for(subject, case, inputs, results, DTYPE)
        grads = operator.grad_outputs(case, results, kind, seed)
    call = subject.call(run, case, inputs, room, grads, deadline=limit)
    finding = subject.run(call, case, DTYPE)
    if finding:
        return [finding]
    given = subject.worker(DTYPE).reply.given
    return [_unasked(subject, given, case)] if given else []


def _unasked(subject: Subject, given: int, case: Case) -> Finding:
    """backward computed a gradient that needs_input_grad said nobody wants."""
    names = [a.name for a in subject.operator.signature.inputs]
    extra = [name for i, name in enumerate(names) if given >> i & 1]
    what = ", ".join(f"'{name}'" for name in extra) or "an input"
    return Finding(
        Verdict.WRONG_CONTRACT,
        f"backward computes the gradient of {what} although ctx.needs_input_grad says "
        "it is not wanted: return None for it",
        case.name,
    )
