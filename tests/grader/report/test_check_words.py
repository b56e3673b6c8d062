# SPDX-License-Identifier: MIT
"""Names of checks, directions and dtypes stand in words wherever they are read."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator

import pytest

from grader.checks.check_result import CheckResult
from grader.checks.gates.contract import GATES, ON_CARD
from grader.engine import plan
from grader.report.check_words import CHECKS, DIRECTION, check_words
from grader.verdicts import Verdict
from tests import PROGRAMS, ROOT

SHORT = re.compile(
    r"\b(f16|f32|f64|fwd|bwd|grad_fwd|grad_bwd|no_memory|gradgradcheck|forward_ad"
    r"|torch_func|idx|ptr|elems?|dims?|params?)\b"
)
ROOMS = ("checks", "diagnosis", "engine", "report", "runner", "toolchain")
RECORDED = json.loads((PROGRAMS / "student_mistakes" / "results.json").read_text())


def recorded() -> Iterator[CheckResult]:
    """What the grader has said of 200 wrong submissions, as results."""
    for said in RECORDED.values():
        for one in said:
            fields = {**one, "name": one["check"], "verdict": Verdict(one["verdict"])}
            yield CheckResult(
                **{k: v for k, v in fields.items() if k in CheckResult.__annotations__}
            )


def test_no_recorded_sentence_has_an_abbreviation():
    results = list(recorded())
    assert len(results) > 200
    for result in results:
        for text in (check_words(result), result.message, result.diagnosis or ""):
            assert not SHORT.search(text), text


def test_a_recorded_place_is_a_line_of_the_students_file():
    for name, said in RECORDED.items():
        for one in said:
            place = one["location"] or "labs/x:1"
            assert re.fullmatch(r"labs/[\w/]+(\.\w+)?:\d+", place), f"{name}: {place}"
            assert "grader/" not in one["message"], name


@pytest.mark.parametrize(
    ("of", "words"),
    [
        (("forward", "forward", "f32"), "forward in float32"),
        (("gradient", "backward", "f64"), "backward in float64"),
        (("memory", "backward", "f32"), "memory accesses, backward in float32"),
        (("build", "forward", ""), "build, forward"),
        (("case", "case", ""), "the case that exposes the bug"),
        (("half", "forward", "f16"), "half precision, forward in float16"),
    ],
)
def test_a_check_is_told_in_words(of, words):
    name, direction, dtype = of
    assert check_words(CheckResult(name, direction, Verdict.PASS, dtype)) == words


def test_every_check_has_words():
    asked = {
        question.asks or question.name
        for kind, of_kind in plan.PLAN.items()
        if kind != plan.VIEW  # a view's checks are called after its functions
        for questions in of_kind.values()
        for question in questions
    }
    gates = {gate.name for gate in (*GATES, *ON_CARD)}
    for name in (asked - {plan.GATES}) | gates:
        assert name in CHECKS or name in DIRECTION, name


def test_no_sentence_in_the_grader_has_a_short_dtype_or_direction():
    short = re.compile(r"(?<!\.)\b(f16|f32|f64|fwd|bwd)\b")  # a file may be x.f32.a
    for room in ROOMS:
        for file in (ROOT / "grader" / room).rglob("*.py"):
            for text in _sentences(ast.parse(file.read_text())):
                assert not short.search(text), f"{file}: {text}"


def _sentences(tree: ast.AST) -> Iterator[str]:
    """Texts of several words that are no docstrings."""
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or id(node) in alone:
            continue
        if isinstance(node.value, str) and node.value.count(" ") > 2:
            yield node.value
