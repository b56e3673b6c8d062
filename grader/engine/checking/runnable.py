# SPDX-License-Identifier: MIT
"""Prepares built rungs for the checks, and tries rungs that no run has graded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from signatures import DIRECTIONS

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
        numerics_for=rung.numerics_for,
        covers=rung.covers,
        has_forward="forward" in built.directions,
    )


def to_time(
    rung: Rung, links: Links, mode: str = "release", walk: str = OWN_FILES
) -> Subject | None:
    """A rung as it is timed: its walk; a direction that it lacks is that of the nearest
    lower right file. None if backward needs a forward and there is none, or if the rung
    is not built.
    """
    built = links.build(rung, mode=mode, walk=walk)
    if not built.libraries:
        return None
    first, second = (links.nearest(rung, built, d, mode, walk) for d in DIRECTIONS)
    subject = of_build(rung, built)
    if subject.operator.signature.saved and "forward" not in first.directions:
        return None
    subject.libraries = {
        dtype: (first.libraries.get(dtype, own), second.libraries.get(dtype, own))
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
