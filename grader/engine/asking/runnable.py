# SPDX-License-Identifier: MIT
"""Built rungs as the checks see them, and whether one is right that no run knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.course.rungs import Rung
from grader.toolchain.linking import OWN_FILES, Links
from grader.toolchain.products import Build
from grader.verdicts import Verdict

if TYPE_CHECKING:  # these import torch, which takes seconds
    from grader.checks.subject import Subject
    from grader.operators import Operator


def of_build(rung: Rung, built: Build, operator: Operator | None = None) -> Subject:
    """A rung in C or CUDA; perhaps as an `operator` that has other cases."""
    from grader import operators
    from grader.checks.subject import Subject

    return Subject(
        operator or operators.get(rung.operator),
        libraries={dtype: (file, file) for dtype, file in built.libraries.items()},
        numerics=rung.numerics,
        covers=rung.covers,
        has_forward="forward" in built.directions,
    )


def to_time(
    rung: Rung, links: Links, mode: str = "release", walk: str = OWN_FILES
) -> Subject | None:
    """A rung as it is timed: its walk, and before a backward that needs it the forward
    of a right file. None if it has none, or is not built.
    """
    built = links.build(rung, mode=mode, walk=walk)
    first = links.forward_for(rung, built, mode, walk)
    subject = of_build(rung, built)
    if not built.libraries:
        return None
    if subject.operator.signature.saved:
        if "forward" not in first.directions:
            return None
        subject.libraries = {
            dtype: (first.libraries.get(dtype, own), own)
            for dtype, own in built.libraries.items()
        }
    subject.covers, subject.has_forward = {}, True  # it may leave nothing
    return subject


@dataclass(frozen=True)
class Trial:
    """Finds out whether a rung is right in one direction, in one dtype."""

    seed: int

    def is_right(self, links: Links, rung: Rung, direction: str) -> bool:
        """Whether it passes."""
        built = links.build(rung)
        if direction not in built.directions or not built.libraries:
            return False
        from grader.checks.values import forward, gradient

        subject = of_build(rung, built)
        check = forward.check if direction == "forward" else gradient.check
        try:
            dtype = subject.dtypes[0 if rung.covers else -1]
            result = check(subject, subject.cases(self.seed), dtype, self.seed)
        finally:
            subject.close()
        return result.verdict is Verdict.PASS
