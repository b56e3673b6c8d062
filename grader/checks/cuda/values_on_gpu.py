# SPDX-License-Identifier: MIT
"""The same checks of values on a real GPU, and the two that only a GPU needs.

cusim has judged a rung before it comes here. What a card can still show: another order
of sums and roundings of its own, threads that really run at the same time, launches
that ask for more than the card has. Names of checks begin with `gpu`.
"""

from __future__ import annotations

import dataclasses

from grader.checks.check_result import CheckResult, Tell, nobody
from grader.checks.subject import Subject
from grader.checks.values import each_dtype
from grader.operators import Case
from grader.verdicts import Verdict

PREFIX = "gpu"


def check(
    subject: Subject,
    cases: list[Case],
    direction: str,
    seed: int,
    announce: Tell = nobody,
) -> list[CheckResult]:
    """Values of one direction in every dtype that it is built for; the first failure is
    the last word.
    """

    def told(step: str) -> None:
        announce(f"{PREFIX} {step}")

    found = each_dtype.check(subject, cases, direction, seed, told)
    if found[-1].verdict is Verdict.PASS:
        told("half")
        found += each_dtype.half(subject, cases, direction, seed)
    return [named(result) for result in found]


def named(found: CheckResult) -> CheckResult:
    """The result under the name that says where it was found."""
    return dataclasses.replace(found, name=f"{PREFIX} {found.name}")
