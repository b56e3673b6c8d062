# SPDX-License-Identifier: MIT
"""Rungs of the repository as a proof runs them, where all of them have to be right."""

from __future__ import annotations

from signatures import DIRECTIONS

from grader import operators
from grader.checks.subject import Subject
from grader.checks.values.fallback import Classes, Servers
from grader.course.rungs import Rung
from grader.engine.asking.lending import paired
from grader.toolchain.linking import Links
from grader.toolchain.products import Build
from tests import ALL_RIGHT


def reference_links() -> Links:
    """Links every rung with those that it names: here all of them have to be right."""
    return Links(judge=ALL_RIGHT)


def subject_of(
    rung: Rung, lower: dict[str, tuple[Rung, Build]], servers: Servers
) -> tuple[Subject, tuple[str, ...]]:
    """A reference rung, the direction it lacks lent by a lower one."""
    operator = operators.get(rung.task.split("/")[1])
    if rung.file.suffix == ".py":
        return Subject(operator, source=rung.file, shown=rung.shown), DIRECTIONS
    built = servers.links.build(rung)
    for direction in built.directions:
        lower[direction] = rung, built
    called = {d: lower.get(d, (rung, built)) for d in DIRECTIONS}
    lent = {d: build for d, (_, build) in called.items()}
    subject = Subject(operator, libraries=paired(built, lent))
    subject.classes = Classes(servers, {d: called[d][0] for d in DIRECTIONS})
    return subject, built.directions
