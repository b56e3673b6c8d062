# SPDX-License-Identifier: MIT
"""Checks the values of every case against PyTorch in double."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import torch

from grader.checks.check_result import (
    CheckResult,
    Finding,
    Stopped,
    summarize,
    with_stop,
)
from grader.checks.subject import DTYPES, Subject
from grader.checks.values.compare import Expected, judge
from grader.checks.values.covered import Coverage
from grader.checks.values.precision import expected
from grader.operators import Case, Truth
from grader.operators.entry import Tensors
from grader.runner.supervisor.call import Call, Output, Run
from grader.verdicts import Verdict

T = TypeVar("T")

BASE_LIMIT = 5.0  # seconds for a call, however small: machines are shared
SLOWER = 2000.0  # and this many times PyTorch's own time for the case


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What it returns, and the seconds it took."""
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def deadline(reference: float) -> float:
    """Seconds a call may take: a base, and a multiple of the measured reference."""
    return BASE_LIMIT + SLOWER * reference


def expectations(
    subject: Subject, case: Case, inputs: Tensors, truth: Truth
) -> list[Expected]:
    """What each result and saved tensor should hold, by position."""
    signature = subject.operator.signature
    terms = subject.operator.terms(case, inputs)
    made = []
    for argument, value, scale in zip(
        signature.outputs, truth.outputs, truth.output_scale
    ):
        name = argument.name
        sizes = scale, terms[name], truth.beyond
        made.append(expected(subject, case, name, value, *sizes))
    for argument, pair, size in zip(signature.saved, truth.saved, truth.saved_scale):
        assert pair is not None
        value, valid = pair
        count = terms.get(argument.name, 1)
        made.append(Expected(argument.name, value, size, count, valid))
    return made


def output_dtypes(subject: Subject, dtype: torch.dtype) -> list[torch.dtype]:
    """The dtype of each result and saved tensor."""
    signature = subject.operator.signature
    kinds = {"i32": torch.int32, "i64": torch.int64}
    if dtype is torch.float16:
        kinds["accum"] = torch.float32
    return [kinds.get(a.dtype, dtype) for a in (*signature.outputs, *signature.saved)]


def check(
    subject: Subject,
    cases: list[Case],
    dtype: str,
    seed: int,
    *,
    through_module: bool = False,
) -> CheckResult:
    """All cases in one dtype; lab 01 once through the function and once the module."""
    findings: list[Finding] = []
    subject.begin()
    tried = 0
    covered = Coverage(subject, "forward")
    try:
        for i, case in enumerate(cases):
            if not subject.operator.asks(case, "forward"):
                continue
            if through_module and not subject.operator.fits_module(case):
                continue
            tried += 1
            findings += _case(subject, case, dtype, seed, i, module=through_module)
            covered.note(case)
    except Stopped as stop:
        findings = with_stop(findings, stop.finding)
    name = "module" if through_module else "forward"
    return covered.of(summarize(name, "forward", dtype, tried, findings))


def _case(
    subject: Subject,
    case: Case,
    dtype: str,
    seed: int,
    i: int,
    *,
    module: bool,
) -> list[Finding]:
    """One case; at most one finding."""
    inputs = subject.operator.inputs(case, DTYPES[dtype], seed)
    truth, seconds = timed(lambda: subject.operator.truth(inputs, case, []))
    expected = expectations(subject, case, inputs, truth)
    saved_from = len(subject.operator.signature.outputs)
    keep_saved = not subject.python and i % 3 != 2  # NULL where no backward follows
    outputs: list[Output | None] = [
        Output(tuple(e.value.shape), kind) if k < saved_from or keep_saved else None
        for k, (e, kind) in enumerate(
            zip(expected, output_dtypes(subject, DTYPES[dtype]))
        )
    ]
    run = Run.FORWARD | (Run.MODULE if module else 0)
    run |= Run.DEFAULTS if i % 2 else 0
    limit = deadline(seconds / 2)  # the truth is two forwards, outputs and scales
    call = subject.call(run, case, inputs, outputs, deadline=limit)
    findings = _judged(subject, call, case, dtype, expected)
    if findings or not case.again:
        return findings
    others = subject.operator.inputs(case, DTYPES[dtype], seed + 1)
    renew(subject, call, others)
    truth = subject.operator.truth(others, case, [])
    expected = expectations(subject, case, others, truth)
    return [kept(f) for f in _judged(subject, call, case, dtype, expected)]


def renew(subject: Subject, call: Call, inputs: Tensors, *grads: torch.Tensor) -> None:
    """Put other numbers into the same memory."""
    names = [argument.name for argument in subject.operator.signature.inputs]
    given = [inputs.get(name) for name in names]
    for i, tensor in enumerate([*given, *grads]):
        if tensor is not None:
            call.set_input(i, tensor)


def kept(finding: Finding) -> Finding:
    """A finding of a second call that follows a right one."""
    text = (
        "called again, with other numbers in the same memory (does the code keep data "
        "from an earlier call?): "
    )
    return replace(finding, message=text + finding.message)


def _judged(
    subject: Subject, call: Call, case: Case, dtype: str, expected: list[Expected]
) -> list[Finding]:
    """Run it and compare; at most one finding."""
    finding = subject.run(call, case, dtype)
    if finding:
        return [finding]
    for k, right in enumerate(expected):
        if call.tensors[k] is None or k in subject.left:
            continue
        found = judge(call, k, right, names=subject.names())
        if found:
            found = _late(subject, call, k, found, dtype)
            finding = Finding(found.verdict, found.message, case.name)
            if found.verdict is Verdict.INCOMPLETE:
                subject.drop(dtype)  # a thread of it may still be writing
                raise Stopped(finding)
            return [finding]
    return []


def _late(subject: Subject, call: Call, k: int, found: Finding, dtype: str) -> Finding:
    """Were the missing elements written by a thread that was late?"""
    if found.verdict is not Verdict.INCOMPLETE or subject.python:
        return found
    tensor = call.tensors[k]
    assert tensor is not None
    late = tensor.numel() - subject.worker(dtype).look_again(call, k)
    if late <= 0:
        return found
    message = (
        f"{found.message}; {late} elements were written after the function "
        "had returned: wait for your threads first (join them)"
    )
    return Finding(found.verdict, message)
