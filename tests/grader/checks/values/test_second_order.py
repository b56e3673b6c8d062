# SPDX-License-Identifier: MIT
"""Second derivatives in lab 01: what autograd does not see of a backward is found."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from grader import operators
from grader.checks.subject import Subject
from grader.checks.values import second_order
from grader.course.tasks import all_tasks
from grader.engine import plan
from grader.verdicts import Verdict
from tests import put

MATMUL = next(
    rung.file
    for task in all_tasks()
    for rung in task.rungs
    if rung.task == "01_python_function/matmul"
)


@pytest.mark.parametrize(
    ("old", "new", "verdict", "word"),
    [
        pytest.param("", "", Verdict.PASS, "", id="right"),
        pytest.param(
            "= ctx.saved_tensors",
            "= (t.data for t in ctx.saved_tensors)",
            Verdict.WRONG_GRADIENT,
            "'second derivative by input'",
            id="data_of_inputs",
        ),
        pytest.param(
            "= ctx.saved_tensors",
            "= ctx.saved_tensors; grad_output = grad_output.detach()",
            Verdict.WRONG_GRADIENT,
            "'second derivative by grad_output'",
            id="detached_gradient",
        ),
        pytest.param(
            "    @staticmethod\n    def backward(",
            "    @staticmethod\n    @torch.autograd.function.once_differentiable\n"
            "    def backward(",
            Verdict.PASS,
            "",
            id="once_differentiable",
        ),
    ],
)
def test_a_backward_that_autograd_cannot_follow_is_found(
    tools: Path, tmp_path: Path, old: str, new: str, verdict: Verdict, word: str
) -> None:
    text = MATMUL.read_text()
    assert old in text
    file = put(tmp_path / "00_mine.py", text.replace(old, new) if old else text)
    operator = operators.get("matmul")
    with closing(Subject(operator, source=file, shown="00_mine.py")) as subject:
        found = second_order.check(subject, operator.cases(3), 3)
    assert found.verdict is verdict, found.message
    assert word in found.message


def test_it_is_asked_of_all_that_start_from_arguments() -> None:
    asked = {
        rung.operator
        for task in all_tasks()
        if not task.is_hunt
        for rung in task.rungs
        if plan.SECOND in {q.name for q in plan.questions(rung, "backward")}
    }
    assert asked == set(operators.SIGNATURES) - {"layer_norm", "lltm"}
