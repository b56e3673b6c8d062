# SPDX-License-Identifier: MIT
"""How exact a rung has to be: a class for all cases, or for the cases of some tags."""

from __future__ import annotations

from typing import Any

import pytest

from grader import operators
from grader.checks.subject import Subject
from grader.course import tasks
from grader.course.tasks import all_tasks
from grader.engine.checking.runnable import of_build
from grader.errors import GraderError
from grader.toolchain.products import Build

DISPATCH = "03_im2col_cpu/conv2d/17_dispatch"


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("tf32", ("tf32", ())),
        ({"winograd": ["a", "b"]}, ("winograd", ("a", "b"))),
    ],
)
def test_a_class_is_for_all_cases_or_for_some_tags(value: Any, found: Any) -> None:
    assert tasks._numerics("lab.toml", value) == found


@pytest.mark.parametrize(
    "value",
    [
        *("single", 3, ["winograd"], {"single": ["a"]}, {"tf32": "a"}),
        *({}, {"tf32": []}, {"tf32": [1]}, {"tf32": ["a"], "winograd": ["b"]}),
    ],
)
def test_anything_else_is_refused(value: Any) -> None:
    with pytest.raises(GraderError, match=r"'numerics' is .*expected one of direct"):
        tasks._numerics("lab.toml", value)


def judged(rung_id: str) -> Subject:
    (rung,) = [r for task in all_tasks() for r in task.rungs if r.id == rung_id]
    return of_build(rung, Build({}))


def test_a_rung_that_chooses_is_exact_where_it_sums_directly() -> None:
    subject = judged(DISPATCH)
    classes = {
        case.name: subject.numerics_of(case)
        for case in operators.get("conv2d").cases(1)
    }
    assert classes["tiles"] == "winograd"
    assert classes["pointwise"] == classes["plain"] == "direct"
    again = subject.judges(Subject(subject.operator))  # another build of it
    assert again.numerics_for == subject.numerics_for
