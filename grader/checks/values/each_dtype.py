# SPDX-License-Identifier: MIT
"""Checks the numbers of one direction in every dtype; the first failure decides."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from grader.checks.check_result import IN_FULL, CheckResult, Tell, clocked, nobody
from grader.checks.subject import Subject
from grader.checks.values import forward, gradient
from grader.course.architectures import HALF
from grader.operators import Case
from grader.verdicts import Verdict

JUDGES = {"forward": forward, "backward": gradient}
NAMES = {"forward": "forward", "backward": "gradient"}  # as progress is told
WRONG = (Verdict.WRONG_VALUE, Verdict.WRONG_GRADIENT)
IN_HALF = (  # the question is asked of what is right in the other dtypes
    "right in float32 and float64, wrong in float16: is a sum kept in `real`, or are "
    "two `real` multiplied? Compute in `accum`: accum_from(x[...]), and real_from(...) "
    "once, where you store"
)


def check(
    subject: Subject,
    cases: list[Case],
    direction: str,
    seed: int,
    announce: Tell = nobody,
) -> list[CheckResult]:
    """The results so far: all of them passed, or all but the last."""
    results: list[CheckResult] = []
    check = JUDGES[direction].check
    for dtype in subject.dtypes:
        announce(f"{NAMES[direction]} in {IN_FULL[dtype]}")
        mine = ordinary(cases) if dtype == HALF else cases
        results.append(clocked(partial(check, subject, mine, dtype, seed)))
        if results[-1].verdict is not Verdict.PASS:
            break
        if not results[-1].cases:  # it covers nothing in this dtype
            results.pop()
    return results


def ordinary(cases: list[Case]) -> list[Case]:
    """Those whose values a half can hold."""
    return [case for case in cases if case.values == "normal"]


def half(
    subject: Subject, cases: list[Case], direction: str, seed: int
) -> list[CheckResult]:
    """Its numbers in f16, on ordinary values; nothing if it is not built for that."""
    if HALF not in subject.libraries:
        return []
    judge = JUDGES[direction].check
    found = clocked(lambda: judge(subject, ordinary(cases), HALF, seed))
    if subject.covers and not found.cases:
        return []
    said = IN_HALF if found.verdict in WRONG else found.diagnosis
    # make debug has no f16
    return [replace(found, name="half", replay=None, diagnosis=said)]
