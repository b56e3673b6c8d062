# SPDX-License-Identifier: MIT
"""What happens when there is no scratch memory? STATUS_NO_MEMORY, or the right result.

A rung in C that asks ctx_scratch must look at what it gets. Cases with strided tensors
are run once more with a context that has nothing to give.
"""

from __future__ import annotations

from grader.checks.check_result import CheckResult, Finding, Stopped, summarize
from grader.checks.subject import DTYPES, Subject
from grader.checks.values.compare import judge
from grader.checks.values.forward import deadline, expectations, output_dtypes, timed
from grader.checks.values.gradient import expected_gradients, room_for
from grader.operators import Case
from grader.runner.supervisor.call import Output, Run
from grader.runner.supervisor.wire import STATUS_NO_MEMORY
from grader.verdicts import Verdict

CASES = 6
DTYPE = "f64"


def check(
    subject: Subject, cases: list[Case], direction: str, seed: int
) -> CheckResult:
    """A few strided cases of one direction."""
    strided = [case for case in cases if case.layout][:CASES]
    findings: list[Finding] = []
    subject.begin()
    try:
        for case in strided:
            findings += _case(subject, case, seed, backward=direction == "backward")
    except Stopped as stop:
        findings.insert(0, stop.finding)
    return summarize("no_memory", direction, DTYPE, len(strided), findings)


def _case(subject: Subject, case: Case, seed: int, *, backward: bool) -> list[Finding]:
    operator, kind = subject.operator, DTYPES[DTYPE]
    inputs = operator.inputs(case, kind, seed)
    results, seconds = timed(lambda: operator.outputs(inputs, case))
    grads = operator.grad_outputs(case, results, kind, seed) if backward else []
    truth = operator.truth(inputs, case, grads)
    expected = [*expectations(subject, case, inputs, truth)]
    room: list[Output | None] = [
        Output(tuple(e.value.shape), dtype)
        for e, dtype in zip(expected, output_dtypes(subject, kind))
    ]
    bits: int = Run.FORWARD
    right = dict(enumerate(expected))
    if backward:
        bits = subject.gradient_bits()
        room = room_for(subject, case, inputs, results, DTYPE)
        gradients = expected_gradients(subject, case, inputs, truth)
        right = {len(expected) + k: e for k, e in enumerate(gradients) if e}
    limit = 3 * deadline(seconds)
    run = bits | Run.NO_SCRATCH
    call = subject.call(run, case, inputs, room, grads, deadline=limit)
    finding = subject.run(call, case, DTYPE)
    if subject.worker(DTYPE).reply.status == STATUS_NO_MEMORY:
        return []
    if finding:
        return [finding]
    for i, wanted in right.items():
        if judge(call, i, wanted, names=subject.names()):
            return [
                Finding(
                    Verdict.WRONG_VALUE,
                    "ctx_scratch gave NULL, and the function returned STATUS_OK with a "
                    "wrong result: return STATUS_NO_MEMORY",
                    case.name,
                )
            ]
    return []
