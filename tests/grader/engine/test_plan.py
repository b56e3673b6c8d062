# SPDX-License-Identifier: MIT
"""The plan: what each kind of rung is asked, and that a grading asks just that."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.course.rungs import Rung
from grader.course.tasks import all_tasks, select
from grader.engine import plan
from grader.engine.grade import Grader

RUNGS = [rung for task in all_tasks() for rung in task.rungs]


@pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: rung.id)
def test_every_rung_has_questions_and_numbers_come_first(rung: Rung) -> None:
    for direction in ("forward", "backward"):
        names = [question.name for question in plan.questions(rung, direction)]
        if rung.is_view:
            assert names == (["views"] if direction == "forward" else [])
            continue
        assert names[0] == plan.NUMBERS
        assert len(names) == len(set(names))


def test_half_module_and_traffic_are_asked_where_there_is_something_to_ask() -> None:
    cuda = Rung("04_cuda_kernels/gelu", Path("x.cu"))
    assert plan.HALF not in {q.name for q in plan.questions(cuda, "forward")}
    half = Rung("04_cuda_kernels/gelu", Path("x.cu"), dtypes=("f16",))
    assert plan.HALF in {q.name for q in plan.questions(half, "forward")}


def test_what_computes_in_half_alone_is_asked_in_half_alone() -> None:
    rung = Rung("04_cuda_kernels/gelu", Path("x.cu"), dtypes=("f16",), numerics="half")
    asked = {q.name: q.dtypes for q in plan.questions(rung, "forward")}
    assert set(asked.values()) == {("f16",)} and plan.NUMBERS in asked
    backward = {q.name for q in plan.questions(rung, "backward")}
    assert not {plan.HALF, plan.GRADCHECK} & (backward | set(asked))
    add = Rung("05_torch_extension/add", Path("x.cpp"), step="stable")
    assert plan.MODULE not in {q.name for q in plan.questions(add, "forward")}
    conv = Rung("05_torch_extension/conv2d", Path("x.cpp"), step="stable")
    assert plan.MODULE in {q.name for q in plan.questions(conv, "forward")}


@pytest.mark.parametrize("name", ["01_python_function/add", "02_naive_c/gelu"])
def test_a_right_rung_is_asked_the_whole_plan_in_its_order(
    tools: Path, name: str
) -> None:
    with Grader(select(name), seed=3) as grader:
        (task,) = grader.run()
    (result,) = task.rungs
    for direction in ("forward", "backward"):
        asked = [c.name for c in result.checks if c.direction == direction]
        wanted = []
        for question in plan.questions(result.rung, direction):
            count = len(question.dtypes) if question.name == plan.NUMBERS else 1
            wanted += [question.asks or question.name] * count
        assert asked == wanted
    assert all(check.seconds > 0 for check in result.checks)
