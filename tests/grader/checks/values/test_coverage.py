# SPDX-License-Identifier: MIT
"""Which cases a file covers: all of its tags; and of a case that it leaves, nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from grader import operators
from grader.checks.check_result import CheckResult
from grader.checks.subject import Subject
from grader.checks.values import each_dtype
from grader.course.rungs import ROOT
from grader.errors import GraderError
from grader.verdicts import Verdict

Covers = dict[str, tuple[str, ...]]
Judge = Callable[..., CheckResult]

SEED = 7
PACKED: Covers = {"": ("packed",)}
LEAVES = "return STATUS_UNSUPPORTED;"
SMALL, LARGE = "tensor_numel(input) < 8", "tensor_numel(input) >= 8"
WROTE = "if (tensor_numel(output)) real_data(output)[0] = 1;"


@pytest.fixture
def judged(compile_rung: Callable[[str], dict[str, Path]]) -> Judge:
    """The numbers of lab 02's gelu or matmul with statements at the begin of a
    direction.
    """

    def judge(
        statement: str,
        covers: Covers | None = None,
        *,
        name: str = "gelu",
        direction: str = "forward",
    ) -> CheckResult:
        file = ROOT / f"labs/02_naive_c/{name}/00_definition.c"
        head, function, rest = file.read_text().partition(f"{name}_{direction}(")
        arguments, brace, body = rest.partition(")\n{")
        text = f"{head}{function}{arguments}{brace}\n    {statement}{body}"
        pairs = {d: (path, path) for d, path in compile_rung(text).items()}
        operator = operators.get(name)
        with closing(Subject(operator, libraries=pairs, covers=covers)) as subject:
            cases = subject.cases(SEED)
            return each_dtype.check(subject, cases, direction, SEED)[0]

    return judge


def test_a_file_that_covers_its_tags_passes_and_says_how_much(judged: Judge) -> None:
    found = judged(f"if ({SMALL} && tensor_numel(input)) {LEAVES}", PACKED)
    assert found.verdict is Verdict.PASS, found.message
    assert 0 < found.cases < found.of == sum(found.asked.values())
    assert found.of - found.cases == sum(map(len, found.left.values()))


def test_a_case_of_its_tags_that_a_file_leaves_is_named(judged: Judge) -> None:
    found = judged(f"if ({LARGE}) {LEAVES}", PACKED)
    assert found.verdict is Verdict.NOT_IMPLEMENTED
    assert "lab.toml says that it covers packed (" in found.message


def test_a_file_that_leaves_everything_covers_nothing(judged: Judge) -> None:
    found = judged(LEAVES, {"grad_input": ("packed",)})
    assert (found.verdict, found.cases) == (Verdict.NOT_IMPLEMENTED, 0)
    assert "covers none of the" in found.message


def test_what_a_file_leaves_it_must_not_touch(judged: Judge) -> None:
    found = judged(f"if ({SMALL}) {{ {WROTE} {LEAVES} }}", PACKED)
    assert found.verdict is Verdict.INCOMPLETE
    assert "leaves 'output' to other files, but wrote 1 of" in found.message


def test_a_file_without_covers_has_to_cover_everything(judged: Judge) -> None:
    found = judged(f"if ({SMALL}) {LEAVES}")
    assert found.verdict is Verdict.WRONG_VALUE
    assert "returned STATUS_UNSUPPORTED. lab.toml names no `covers`" in found.message


def test_a_tag_that_nobody_knows_ends_the_grading(judged: Judge) -> None:
    with pytest.raises(GraderError, match="the tags of this operator are: pack"):
        judged(LEAVES, {"": ("pakced",)})


ONE = "grad_input = NULL; ctx->left = GRAD_INPUT;"
BACKWARD = {"name": "matmul", "direction": "backward"}


def test_a_gradient_may_be_left(judged: Judge) -> None:
    found = judged(ONE, {"grad_other": ("packs_of_4",)}, **BACKWARD)
    assert found.verdict is Verdict.PASS, found.message
    left = [name for names in found.left.values() for name in names]
    assert left and all(name.endswith(" grad_input") for name in left)
    required = judged(ONE, {"": ("packs_of_4",)}, **BACKWARD)
    assert required.verdict is Verdict.NOT_IMPLEMENTED


def test_a_gradient_that_is_left_must_not_be_written(judged: Judge) -> None:
    lie = judged("ctx->left = GRAD_INPUT;", {"grad_other": ("packs_of_4",)}, **BACKWARD)
    assert lie.verdict is Verdict.INCOMPLETE
    whole = judged(ONE, **BACKWARD)
    assert whole.verdict is Verdict.WRONG_GRADIENT
    assert "leaves 'grad_input' to other files (ctx->left). lab.toml" in whole.message
