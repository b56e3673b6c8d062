# SPDX-License-Identifier: MIT
"""Without scratch memory: each request is refused alone, in the direction it is for."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from grader import operators
from grader.checks.check_result import CheckResult
from grader.checks.memory import no_scratch
from grader.checks.subject import Subject
from grader.verdicts import Verdict

# a copy of input in two steps, and the erf or tanh of it
BODY = """
    const size_t bytes = (size_t)COUNT * sizeof(real);
    real *one = (real *)ctx_scratch(ctx, bytes), *two = (real *)ctx_scratch(ctx, bytes);
    if (COUNT > 0 && ({missing})) return {status};
    for (int64_t i = 0; i < COUNT; i++) {{
        one[i] = x[tensor_offset(input, input->ndim, i)];
        two[i] = one[i];
        const accum cubic = two[i] + 0.044715 * two[i] * two[i] * two[i];
        const accum u = p.approximate == GELU_NONE
            ? real_erf(two[i] * 0.70710678118654752)
            : real_tanh(0.79788456080286536 * cubic);
        y[i] = (real)(0.5 * two[i] * (1 + u));
    }}"""
BOTH, FIRST, SECOND = "!one || !two", "!one", "!two"
NO, OK = "STATUS_NO_MEMORY", "STATUS_OK"
ADVICE = f"return {NO} if ctx_scratch"

Checked = Callable[..., CheckResult]


@pytest.fixture
def checked(tools: Path, compile_gelu: Callable[[str], dict[str, Path]]) -> Checked:
    """The check of a gelu_forward that looks for what is missing, or does not."""

    def check(missing: str, status: str) -> CheckResult:
        built = compile_gelu(BODY.format(missing=missing, status=status))
        libraries = {k: (v, v) for k, v in built.items()}
        operator = operators.get("gelu")
        with closing(Subject(operator, libraries=libraries)) as subject:
            return no_scratch.check(subject, operator.cases(3), "forward", 3)

    return check


@pytest.mark.parametrize(
    ("missing", "status", "verdict", "words"),
    [
        pytest.param(BOTH, NO, Verdict.PASS, "", id="looks_at_both"),
        pytest.param(
            FIRST, NO, Verdict.CRASH, f"request 2: {ADVICE}", id="first_alone"
        ),
        pytest.param(
            SECOND, NO, Verdict.CRASH, f"request 1: {ADVICE}", id="last_alone"
        ),
        pytest.param(BOTH, OK, Verdict.WRONG_VALUE, "STATUS_OK with a", id="says_ok"),
    ],
)
def test_every_refused_request_has_to_be_noticed(
    checked: Checked, missing: str, status: str, verdict: Verdict, words: str
) -> None:
    found = checked(missing, status)
    assert found.verdict is verdict, found.message
    assert words in found.message
