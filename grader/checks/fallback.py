# SPDX-License-Identifier: MIT
"""Which cases does a rung leave to its fallback?

The rung is linked once more, with a fallback that answers NOT_IMPLEMENTED. A case that
comes back with this answer was the fallback's: such a row is named, and does not count
for the rung.
"""

from __future__ import annotations

from dataclasses import replace

from grader import operators
from grader.build import Build
from grader.checks import forward, gradient
from grader.checks.result import CheckResult
from grader.checks.subject import Subject
from grader.linking import Links
from grader.operators import Case, Operator
from grader.score import DIRECTIONS, RungResult
from grader.tasks import Rung
from grader.uses import FALLBACK
from grader.verdicts import Verdict


def server(
    links: Links,
    rung: Rung,
    operator: Operator,
    case: Case,
    direction: str,
    *,
    seed: int,
    dtype: str = "f32",
) -> str:
    """The file that computes a case for a rung: "" for its own, else its fallback's."""
    built = links.build(rung)
    symbol = f"{FALLBACK}_{direction}"
    name = built.uses.get(FALLBACK) or built.uses.get(symbol, "")
    if not name or not built.libraries:
        return ""
    alone = links.build(rung, fallback=False)
    return (
        name if _gives_up(alone, built, operator, case, direction, seed, dtype) else ""
    )


def whose(
    links: Links,
    rung: Rung,
    operator: Operator,
    cases: list[Case],
    direction: str,
    *,
    seed: int,
) -> str:
    """The fallback's name if it computes every case of a direction; "" if the rung
    computes some itself.
    """
    name = ""
    for case in cases:
        if direction == "backward" and not any(operator.wanted(case)):
            continue
        name = server(links, rung, operator, case, direction, seed=seed)
        if not name:
            return ""
    return name


def counted(links: Links, result: RungResult, seed: int) -> RungResult:
    """The same result, but that a direction which leaves every case to its fallback is
    not written yet.
    """
    rung, checks = result.rung, list(result.checks)
    operator = operators.get(rung.task.split("/")[1])
    cases = operator.cases(seed)
    for name, direction in zip(("forward", "gradient"), DIRECTIONS):
        if result.verdict(direction) is not Verdict.PASS:
            continue
        server = whose(links, rung, operator, cases, direction, seed=seed)
        if server:
            text = f"leaves every case to its fallback, {server}"
            no = Verdict.NOT_IMPLEMENTED
            checks.append(CheckResult(name, direction, no, message=text))
    return replace(result, checks=tuple(checks))


def _gives_up(
    alone: Build,
    built: Build,
    operator: Operator,
    case: Case,
    direction: str,
    seed: int,
    dtype: str,
) -> bool:
    """Whether a direction answers NOT_IMPLEMENTED without its fallback."""
    usual, bare = built.libraries[dtype], alone.libraries[dtype]
    pair = (bare, usual) if direction == "forward" else (usual, bare)
    subject = Subject(operator, libraries={dtype: pair})
    check = forward.check if direction == "forward" else gradient.check
    try:
        result = check(subject, [case], dtype, seed)
    finally:
        subject.close()
    return result.verdict is Verdict.NOT_IMPLEMENTED
