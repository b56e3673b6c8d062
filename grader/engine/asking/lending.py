# SPDX-License-Identifier: MIT
"""What the files of a ladder do for each other in one grading.

A rung that was not asked for lends what it does right to those above it; and where one
file calls another, a result has to be as exact as the file that computed it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from signatures import DIRECTIONS

from grader.checks.check_result import CheckResult
from grader.course.below import lowest
from grader.course.rungs import Rung
from grader.course.tasks import all_tasks
from grader.course.uses import UNPAID
from grader.engine.score import RungResult
from grader.toolchain.linking import Links
from grader.toolchain.products import Build
from grader.verdicts import Verdict

if TYPE_CHECKING:  # these import torch, which takes seconds
    from grader.checks.values.fallback import Alone, Classes, Servers
    from grader.operators import Case, Operator

GIVEN = "given/"  # names of given objects begin so
LARGER = 3  # one of so many cases is a larger one; right rungs compute some
NAMED = 4  # cases that a sentence names
Libraries = dict[str, tuple[Path, Path]]  # dtype -> of forward, of backward
Lower = dict[str, tuple[Rung, Build]]  # direction -> the nearest right rung below


def paired(own: Build, lent: Mapping[str, Build]) -> Libraries:
    """A rung's libraries for forward and backward, by dtype; `lent` has the builds of
    the directions that it takes from lower rungs. Where a lower rung is not built for a
    dtype, its direction is missing in that dtype.
    """
    pairs = {}
    for dtype, mine in own.libraries.items():
        by = {d: build.libraries.get(dtype, mine) for d, build in lent.items()}
        pairs[dtype] = by.get("forward", mine), by.get("backward", mine)
    return pairs


class Lending:
    """Of one grading. Close it when done."""

    def __init__(self, seed: int, mode: str = "release") -> None:
        """`mode`: the builds that are asked who computes what."""
        self.seed, self.mode = seed, mode
        self._servers: dict[str, Servers] = {}  # by operator
        self._alone: Alone | None = None  # the workers of all of them

    def close(self) -> None:
        """End the workers that were asked who computes what."""
        if self._alone:
            self._alone.close()

    def classes(self, links: Links, name: str, called: dict[str, Rung]) -> Classes:
        """How exact results of an operator's files have to be, by direction."""
        from grader import operators
        from grader.checks.values.fallback import Alone, Classes, Servers

        self._alone = self._alone or Alone()
        if name not in self._servers:
            words = links, operators.get(name), self.seed, self.mode
            self._servers[name] = Servers(*words, alone=self._alone)
        return Classes(self._servers[name], called)

    def is_right(self, links: Links, rung: Rung, direction: str) -> bool:
        """Whether a rung passes one direction in double, on all cases."""
        built = links.build(rung)
        if direction not in built.directions or not built.libraries:
            return False
        from grader import operators
        from grader.checks.subject import Subject
        from grader.checks.values import forward, gradient

        operator = operators.get(rung.operator)
        library = first = built.libraries["f64"]
        if operator.signature.saved:
            first = links.forward_for(rung, built).libraries["f64"]
        subject = Subject(operator, libraries={"f64": (first, library)})
        called = dict.fromkeys(DIRECTIONS, rung)
        subject.classes = self.classes(links, rung.operator, called)
        check = forward.check if direction == "forward" else gradient.check
        try:
            result = check(subject, subject.cases(self.seed), "f64", self.seed)
        finally:
            subject.close()
        return result.verdict is Verdict.PASS


def counted(links: Links, result: RungResult, seed: int) -> RungResult:
    """The same result, but that a direction which leaves every case that is not small
    to a lower file, or one of its results to a given object, is not written yet.
    """
    from grader import operators
    from grader.checks.values.fallback import Servers

    rung, checks = result.rung, list(result.checks)
    operator = operators.get(rung.operator)
    with Servers(links, operator, seed) as servers:
        for name, direction in zip(("forward", "gradient"), DIRECTIONS):
            if result.verdict(direction) is not Verdict.PASS:
                continue
            if text := _unearned(
                servers, rung, _by_work(operator, rung, seed), direction
            ):
                no = Verdict.NOT_IMPLEMENTED
                checks.append(CheckResult(name, direction, no, message=text))
    return replace(result, checks=tuple(checks))


def _by_work(operator: Operator, rung: Rung, seed: int) -> list[Case]:
    """An operator's cases, the least work first. A case with an empty tensor shows
    nothing: zeros are right there, and so is no element. cusim takes too long for
    large ones.
    """
    from grader.operators.cost import forward_work
    from grader.operators.entry import numel

    on_device = rung.file.suffix == ".cu"
    cases = [
        case
        for case in operator.cases(seed)
        if all(map(numel, operator.input_shapes(case).values()))
        if not (case.large and on_device)
    ]
    return sorted(cases, key=lambda case: forward_work(operator, case, seed))


def _unearned(servers: Servers, rung: Rung, cases: list[Case], direction: str) -> str:
    """Why a direction that is right does not count for the rung; "" if it does: of the
    third of the cases with the most work it computes one by itself, and each result
    that it leaves to others is computed by a file of the ladder in one of them, not
    always by a given object. The cases come in the order of their work.
    """
    first = len(cases) - len(cases) // LARGER
    small, large = cases[:first], cases[first:]
    own, lower = False, ""
    made: set[str] = set()  # results that a file of the ladder computes
    given: dict[str, str] = {}  # others, and the given object that does
    for case in large:
        for name, part in servers.parts(case, direction):
            left = servers.left(rung, part, direction)
            own, lower = own or not left, left or lower
            if left.startswith(GIVEN):
                given.setdefault(name, left)
            else:
                made.add(name)
        if own and given.keys() <= made:
            return ""
    if own:
        name = next(n for n in given if n not in made)
        left = f"leaves '{name}' to {given[name]} in each of the {_listed(large)}"
        return left + _comes_first(rung, name, direction)
    if not lower:
        return ""
    alone = [case.name for case in small if _is_own(servers, rung, case, direction)]
    if not alone:
        return f"leaves every case to a lower file, {lower}"
    return (
        f"computes small cases in this file ({_some(alone)}). It leaves each of the "
        f"{_listed(large)} to a lower file, {lower}. Compute at least one of these in "
        "this file"
    )


def _comes_first(rung: Rung, name: str, direction: str) -> str:
    """Which lower file is to be written before a file earns points that leaves a result
    to a given object: the ladder's first one, those above it may leave the result too.
    """
    ladder = next((task for task in all_tasks() if task.id == rung.task), None)
    first = lowest(ladder, direction) if ladder else None
    if first is None or first.file.name >= rung.file.name:
        return ""
    return (
        f"; {UNPAID}: write {direction} in {first.file.name} first, it then computes "
        f"'{name}' for this file"
    )


def _is_own(servers: Servers, rung: Rung, case: Case, direction: str) -> bool:
    """Whether a rung computes one of a case's results by itself."""
    parts = servers.parts(case, direction)
    return not all(servers.left(rung, part, direction) for _, part in parts)


def _listed(large: list[Case]) -> str:
    """The cases with the most work, as a sentence names them."""
    names = [case.name for case in reversed(large)]
    return f"{len(large)} cases with the most work ({_some(names)})"


def _some(names: list[str]) -> str:
    """Some names, and that there are more."""
    more = ", ..." if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
