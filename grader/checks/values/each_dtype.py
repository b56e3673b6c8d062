# SPDX-License-Identifier: MIT
"""One direction's numbers in every dtype; the first failure is the last word."""

from __future__ import annotations

from functools import partial

from grader.checks.check_result import IN_FULL, CheckResult, Tell, clocked, nobody
from grader.checks.subject import Subject
from grader.checks.values import forward, gradient
from grader.operators import Case
from grader.verdicts import Verdict

JUDGES = {"forward": forward, "backward": gradient}
NAMES = {"forward": "forward", "backward": "gradient"}  # as progress is told


def check(
    subject: Subject, cases: list[Case], direction: str, seed: int, tell: Tell = nobody
) -> list[CheckResult]:
    """The results so far: all of them passed, or all but the last."""
    results: list[CheckResult] = []
    check = JUDGES[direction].check
    for dtype in subject.dtypes:
        tell(f"{NAMES[direction]} in {IN_FULL[dtype]}")
        results.append(clocked(partial(check, subject, cases, dtype, seed)))
        if results[-1].verdict is not Verdict.PASS:
            break
    return results
