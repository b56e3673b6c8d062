# SPDX-License-Identifier: MIT
"""Checks the values of a rung on a real GPU, and two things that only a GPU shows.

cusim has already judged the rung. On a card sums have another order and other
roundings. Threads really run at the same time. A launch can also ask for more than the
card has. The names of these checks begin with `gpu`.
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

    def announce_on_card(step: str) -> None:
        announce(f"{PREFIX} {step}")

    found = each_dtype.check(subject, cases, direction, seed, announce_on_card)
    if found[-1].verdict is Verdict.PASS:
        announce_on_card("half")
        found += each_dtype.half(subject, cases, direction, seed)
    return [named(result) for result in found]


def named(found: CheckResult) -> CheckResult:
    """The result under the name that says where it was found."""
    return dataclasses.replace(found, name=f"{PREFIX} {found.name}")
