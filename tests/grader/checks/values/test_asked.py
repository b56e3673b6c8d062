# SPDX-License-Identifier: MIT
"""A direction is asked the cases that have something for it to do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from grader import operators
from grader.checks.subject import Subject
from grader.checks.values import forward, gradient
from grader.course.tasks import select
from grader.engine.answers.earlier_links import build
from grader.operators import Case

SEED = 3
CONV = operators.get("conv2d")
BOTH = ("forward", "backward")


@pytest.fixture(scope="module")
def reference(tools: object) -> Iterator[Subject]:
    (task,) = select("02_naive_c/conv2d").tasks
    library = build(task.rungs[0]).libraries["f64"]
    subject = Subject(CONV, libraries={"f64": (library, library)})
    yield subject
    subject.close()


def case_of(**more: object) -> Case:
    sizes = {"N": 1, "IC": 1, "IH": 3, "IW": 3, "OC": 1, "KH": 2, "KW": 2}
    return CONV.case({"name": "some", **sizes, **more})


@pytest.mark.parametrize(
    ("more", "asked"),
    [
        ({}, BOTH),
        ({"backward_only": True}, ("backward",)),
        ({"wanted": []}, ("forward",)),
    ],
)
def test_a_case_is_asked_of_its_directions_alone(
    more: dict[str, object], asked: tuple[str, ...], reference: Subject
) -> None:
    case = case_of(**more)
    assert tuple(d for d in BOTH if CONV.asks(case, d)) == asked
    tried = (
        forward.check(reference, [case], "f64", SEED),
        gradient.check(reference, [case], "f64", SEED),
    )
    assert tuple(r.direction for r in tried if r.cases) == asked
