# SPDX-License-Identifier: MIT
"""Checks an exhibit of a bug hunt: the repair, and the case that exposes the bug.

The repair gets the same checks as any file of its kind. The original file runs only on
the student's case, and there it must fail.

To find the bug is the student's task. So a failing check reports only its verdict at
first. The student's case unlocks the details if it exposes the bug. A hint unlocks
them, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

from signatures import DIRECTIONS

from grader import operators
from grader.checks.check_names import CHECKS
from grader.checks.check_result import CheckResult, clocked
from grader.checks.not_run import of_ours
from grader.checks.values import each_dtype
from grader.course.exhibits import CASE_CHECK
from grader.course.rungs import COMPILED, ROOT, Rung
from grader.engine import hints, plan
from grader.engine.checking.compiling import Builds
from grader.engine.score import RungResult
from grader.operators import Operator, case_file
from grader.operators.entry import numel
from grader.toolchain import given
from grader.verdicts import Verdict

Ask = Callable[[Operator], RungResult]

REFUSED = Verdict.WRONG_CONTRACT  # a case that is none, or exposes nothing
# a slow machine's fault, or ours: no exhibit is written wrong in this way
UNASKED = (
    *(Verdict.BUILD, Verdict.FORBIDDEN, Verdict.NOT_IMPLEMENTED),
    *(Verdict.TIMEOUT, Verdict.LIMIT),
)
# of these the details tell nothing about the bug
HARMLESS = (Verdict.PASS, Verdict.BUILD, Verdict.FORBIDDEN, Verdict.NOT_IMPLEMENTED)
KEYS = "docs/guides/bug_museum.md"  # explains the keys of a case
WITHHELD = (
    "this check fails. Find out for which case: write a case into {case} that exposes "
    "the bug. The grader shows the details once your case exposes the bug, or after "
    "make hint T={rung}"
)


class ExhibitChecker(Protocol):
    """What the check of an exhibit needs of a Checker (rung_checker.py)."""

    seed: int
    check: str | None
    announce: Callable[[str, str], None]
    builds: Builds

    def checked_rung(
        self, rung: Rung, operator: Operator | None = None, *, warm: bool = False
    ) -> RungResult: ...

    def only_wanted(self, results: Sequence[CheckResult]) -> list[CheckResult]: ...


def exhibit(checker: ExhibitChecker, rung: Rung, *, warm: bool) -> RungResult:
    """The repair, as any other file, and the case that exposes the bug. `warm`: one
    more file in Python follows. CHECK= asks for the repair alone.
    """
    broken = given.broken(rung)
    had: tuple[str, ...] = DIRECTIONS
    if plan.kind(broken) in COMPILED:
        had = checker.builds.alone(broken).directions
    result = whole(rung, checker.checked_rung(rung, warm=True), had)
    hinted = hints.seen(rung) > 0
    if checker.check:
        checks = checker.only_wanted(result.checks)
        return replace(result, checks=shown(rung, checks, told=hinted))
    checker.announce(rung.id, CHECKS[CASE_CHECK])
    found = case(rung, partial(checker.checked_rung, broken, warm=warm))
    told = hinted or found.verdict is Verdict.PASS
    return replace(result, checks=(*shown(rung, result.checks, told=told), found))


def shown(
    rung: Rung, checks: Sequence[CheckResult], *, told: bool
) -> tuple[CheckResult, ...]:
    """The checks of an exhibit as a student may see them: until the bug is exposed no
    failing case, no diagnosis and no line.
    """
    return tuple(
        check
        if told or check.verdict in HARMLESS or check.verdict.pending
        else _without_details(rung, check)
        for check in checks
    )


def _without_details(rung: Rung, check: CheckResult) -> CheckResult:
    text = WITHHELD.format(case=shown_case(rung), rung=rung.id)
    return CheckResult(
        check.name,
        check.direction,
        check.verdict,
        message=text,
        seconds=check.seconds,
    )


def whole(rung: Rung, result: RungResult, had: Sequence[str]) -> RungResult:
    """The repair's result: a direction that the file had, and has no more, is not
    written.
    """
    if any(check.name == "build" for check in result.checks):
        return result
    gone = [d for d in had if result.verdict(d) is None]
    lost = tuple(_gone(rung, direction) for direction in gone)
    return replace(result, checks=(*result.checks, *lost))


def _gone(rung: Rung, direction: str) -> CheckResult:
    name = each_dtype.NAMES[direction]
    text = (
        f"defines no '{rung.operator}_{direction}' any more: write this function "
        "again, without the bug"
    )
    return CheckResult(name, direction, Verdict.NOT_IMPLEMENTED, message=text)


def case(rung: Rung, ask: Ask) -> CheckResult:
    """Whether the case in the file beside it exposes the bug. `ask` runs the file as it
    was handed out on the cases of an operator.
    """
    return clocked(lambda: _guarded(rung, ask))


# ---- the case ------------------------------------------------------------------------


def _guarded(rung: Rung, ask: Ask) -> CheckResult:
    try:
        return _judged(rung, ask)
    except Exception as error:
        return _said(Verdict.GRADER, of_ours(error))


def _judged(rung: Rung, ask: Ask) -> CheckResult:
    exhibit, shown = rung.exhibit, shown_case(rung)
    assert exhibit
    operator = operators.get(exhibit.operator)
    try:
        found = case_file.read(rung.case_file, shown, operator)
    except case_file.Refused as refused:
        return _said(REFUSED, str(refused), refused.location)
    count = sum(map(numel, operator.input_shapes(found).values()))
    if count > exhibit.elements:
        text = (
            f"{shown}: the inputs of this case have {count} numbers, expected at most "
            f"{exhibit.elements}. A smaller case can expose the bug, too"
        )
        return _said(Verdict.LIMIT, text, shown)
    checks = ask(operator.on(found)).checks
    failed = [check for check in checks if check.verdict is not Verdict.PASS]
    return _exposed(failed, shown)


def _exposed(failed: list[CheckResult], shown: str) -> CheckResult:
    """What follows of the checks that the handed out file fails."""
    ours = next((check for check in failed if check.verdict.pending), None)
    ours = ours or next((c for c in failed if c.verdict in UNASKED), None)
    if ours:
        text = f"{shown}: the original file cannot run this case: {ours.message}"
        return _said(ours.verdict if ours.verdict.pending else Verdict.GRADER, text)
    if not failed:
        text = (
            f"{shown}: the original file passes this case, so the case does not expose "
            "the bug. Which sizes or options does the bug need? Or which layout, "
            f"values, without or wanted? {KEYS} explains these keys"
        )
        return _said(REFUSED, text, shown)
    return _said(Verdict.PASS, "")


def shown_case(rung: Rung) -> str:
    """The path of an exhibit's case as people see it."""
    return str(rung.case_file.relative_to(ROOT))


def _said(verdict: Verdict, text: str, location: str | None = None) -> CheckResult:
    place = location if location and ":" in location else None
    return CheckResult(
        CASE_CHECK, CASE_CHECK, verdict, cases=1, message=text, location=place
    )
