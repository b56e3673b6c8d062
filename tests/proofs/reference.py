# SPDX-License-Identifier: MIT
"""Rungs of the repository as a proof runs them, where all of them have to be right."""

from __future__ import annotations

from signatures import DIRECTIONS

from grader import operators
from grader.checks.subject import Subject
from grader.course.rungs import Rung
from grader.engine.checking.runnable import of_build
from grader.toolchain.linking import Links
from tests import ALL_RIGHT


def reference_links() -> Links:
    """Links every rung with those that it names: here all of them have to be right."""
    return Links(judge=ALL_RIGHT)


def subject_of(rung: Rung, links: Links) -> tuple[Subject, tuple[str, ...]]:
    """A reference rung, and the directions that it defines."""
    if rung.file.suffix == ".py":
        operator = operators.get(rung.operator)
        return Subject(operator, source=rung.file, shown=rung.shown), DIRECTIONS
    built = links.build(rung)
    return of_build(rung, built), built.directions
