# SPDX-License-Identifier: MIT
"""Rungs with threads: what is only wrong with several of them, and that it is told."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from grader import operators
from grader.checks.check_result import CheckResult
from grader.checks.subject import Subject
from grader.checks.values import several_threads
from grader.course.rungs import Rung
from grader.course.tasks import all_tasks
from grader.course.threads import promises_bits, starts_threads
from grader.toolchain.symbols import symbols
from grader.verdicts import Verdict
from tests import put

# each thread its share, of which SHARE says where it begins; ROW is what it reads
TEAM = """
    const int64_t T = ctx->threads;
    #define SHARE(t) (COUNT * (t) / T)
    const real *dense = (const real *)tensor_contiguous(ctx, input);
    if (!dense) return STATUS_NO_MEMORY;
    #pragma omp parallel for num_threads(ctx->threads)
    for (int64_t t = 0; t < T; t++) {
        const real *row = dense;
        (void)row;
        for (int64_t i = SHARE(t); i < SHARE(t + 1); i++) {
            const accum cubic = dense[i] + 0.044715 * dense[i] * dense[i] * dense[i];
            const accum u = p.approximate == GELU_NONE
                ? real_erf(dense[i] * 0.70710678118654752)
                : real_tanh(0.79788456080286536 * cubic);
            y[i] = (real)(0.5 * row[i] * (1 + u));
        }
    }"""
EVERY_SHARE_FLOORED = TEAM.replace("COUNT * (t) / T", "COUNT / T * (t)")
ONE_PLACE = TEAM.replace(  # all threads collect in the same buffer
    "#pragma omp",
    "real *own = (real *)ctx_scratch(ctx, (size_t)COUNT * sizeof(real));"
    "if (!own) return STATUS_NO_MEMORY;\n#pragma omp",
).replace(
    "(void)row;",
    "const int64_t a = SHARE(t), b = SHARE(t + 1);"
    "for (int64_t i = a; i < b; i++) own[i - a] = dense[i];"
    "row = own - a;",
)
ASKS_AT_ONCE = TEAM.replace(
    "const real *row = dense;",
    "real *row = (real *)ctx_scratch(ctx, (size_t)COUNT * sizeof(real));"
    "for (int64_t i = SHARE(t); row && i < SHARE(t + 1); i++) row[i] = dense[i];",
)
LAST_BIT = TEAM.replace("(1 + u)", "(1 + u) * (T > 2 ? 1 + 1.2e-7 : 1)")

Checked = Callable[..., CheckResult]


@pytest.fixture
def checked(tools: Path, compile_gelu: Callable[[str], dict[str, Path]]) -> Checked:
    """The check of a gelu_forward's statements."""

    def check(body: str, *, same_bits: bool = False) -> CheckResult:
        libraries = {k: (v, v) for k, v in compile_gelu(body).items()}
        with closing(Subject(operators.get("gelu"), libraries=libraries)) as subject:
            return several_threads.check(subject, "forward", 3, same_bits=same_bits)

    return check


@pytest.mark.parametrize(
    ("body", "verdict", "words"),
    [
        pytest.param(TEAM, Verdict.PASS, "", id="right"),
        pytest.param(
            EVERY_SHARE_FLOORED,
            Verdict.INCOMPLETE,
            "with 2 threads: 1 of",
            id="floored",
        ),
        pytest.param(
            ASKS_AT_ONCE, Verdict.RACE, "two threads called ctx_scratch", id="crowd"
        ),
        pytest.param(ONE_PLACE, Verdict.WRONG_VALUE, " threads: 'output'", id="race"),
        pytest.param(
            LAST_BIT, Verdict.WRONG_VALUE, "with 3 threads: ", id="not_the_same_bits"
        ),
    ],
)
def test_what_is_wrong_with_several_threads_is_told(
    checked: Checked, body: str, verdict: Verdict, words: str
) -> None:
    """A race shows in most runs, and on a busy machine in fewer."""
    found = checked(body, same_bits=True)
    for _ in range(20):
        if found.verdict is verdict:
            break
        found = checked(body, same_bits=True)
    assert found.verdict is verdict, found.message
    assert words in found.message


def test_a_region_of_a_rung_begins_in_the_worker(tools: Path) -> None:
    """Which disturbs its threads: the loader looks among what a program exports."""
    assert "GOMP_parallel" in symbols(tools / "worker")[0]


@pytest.mark.parametrize("name", list(operators.SIGNATURES))
def test_every_operator_has_cases_for_threads(name: str) -> None:
    cases = operators.get(name).thread_cases()
    assert len(cases) >= 2
    assert len({case.name for case in cases}) == len(cases)


@pytest.mark.parametrize(
    ("text", "starts", "promises"),
    [
        ("for (;;) sum += *x;", False, False),
        ("    #pragma omp parallel for", True, False),
        ("const int64_t T = ctx->threads;", True, False),
        ("// omp_get_thread_num\n", False, False),
        ('_Pragma("omp parallel for")', True, False),
        (" * any number of threads, bit for\n * bit.\n#pragma omp simd", True, True),
    ],
)
def test_the_text_tells_of_threads(
    tmp_path: Path, text: str, starts: bool, promises: bool
) -> None:
    rung = Rung("03_im2col_cpu/gelu", put(tmp_path / "09_mine.c", text))
    assert (starts_threads(rung), promises_bits(rung)) == (starts, promises)


def test_every_rung_of_ours_with_threads_promises_the_same_bits() -> None:
    tasks = [task for task in all_tasks() if not task.is_hunt]
    ladders = [task for task in tasks if task.language == "c"]
    with_threads = [r for t in ladders for r in t.rungs if starts_threads(r)]
    assert len(with_threads) > 10
    assert [r.id for r in with_threads if not promises_bits(r)] == []
