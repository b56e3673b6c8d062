# SPDX-License-Identifier: MIT
"""`make profile` says of known loops what is known of them."""

from __future__ import annotations

import platform
from collections import Counter
from pathlib import Path

import pytest

from grader.bench.profile import counts, findings
from grader.bench.profile.object_code import Loop, loops
from grader.commands import cli
from grader.report import terminal
from tests import output_of, put

SCALAR = """float dot(const float *x, const float *y, long n)
{
    float sum = 0;
    for (long i = 0; i < n; i++) sum += x[i] * y[3 * i];
    return sum;
}
"""
VECTORS = """typedef float vec __attribute__((vector_size(32)));
void scale(vec *restrict y, const vec *restrict x, vec a, long n)
{
    for (long i = 0; i < n; i++) y[i] += a * x[i];
}
"""
SPILLS = """typedef float vec __attribute__((vector_size(32)));
void many(vec *restrict y, const float *restrict x, const vec *w, long n)
{
    vec sum[20] = {0};
    for (long i = 0; i < n; i++) {
#pragma GCC unroll 20
        for (int j = 0; j < 20; j++) sum[j] += x[i] * w[20 * i + j];
    }
    for (int j = 0; j < 20; j++) y[j] = sum[j];
}
"""

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="reads code for x86-64"
)


def made(tmp_path: Path, text: str, *flags: str) -> list[Loop]:
    source, library = put(tmp_path / "made.c", text), tmp_path / "made.so"
    command = ["gcc", "-O2", "-g", "-march=x86-64-v3", "-shared", "-fPIC", *flags]
    output_of([*command, "-o", library, source], seconds=60)
    return loops(library, source)


def test_one_number_at_a_time_is_told_from_vectors(tmp_path: Path) -> None:
    (scalar,) = [x for x in made(tmp_path, SCALAR) if x.arithmetic]
    assert scalar.is_scalar and scalar.multiply_adds == 1 and scalar.lines == (4, 4)
    assert scalar.loads in (1, 2) and not scalar.spills
    (vectors,) = [x for x in made(tmp_path, VECTORS) if x.arithmetic]
    assert not vectors.is_scalar and vectors.multiply_adds == 1


def test_sums_that_do_not_fit_are_seen_on_the_stack(tmp_path: Path) -> None:
    found = [x for x in made(tmp_path, SPILLS) if x.multiply_adds >= 16]
    assert found and all(loop.spills for loop in found)


def test_the_loop_with_most_instructions_is_the_hottest(tmp_path: Path) -> None:
    one, other = (made(tmp_path, text)[0] for text in (SCALAR, VECTORS))
    ran = Counter({step.at: 5 for step in other.body})
    ran[10**9] = 5  # outside of every loop
    best, share = findings.hottest(ran, [other])
    assert best is other and share == len(other.body) / (len(other.body) + 1)
    assert findings.hottest(Counter(), [one]) == (None, 0.0)
    assert findings.same_loop(one, [one]) is one


def test_counts_are_those_of_the_library_alone() -> None:
    text = (
        "ob=/lib/other.so\nfn=f\n0x10 3 7\nob=/x/mine.so\nfn=g\n0x20 4 5\n"
        "calls=1 0x10 3\n0x24 4 900\n0x20 5 2\n"
    )
    assert counts._of_library(text, "/x/mine.so") == Counter({0x20: 7})


@pytest.mark.skipif(not counts.available(), reason="valgrind is not installed")
def test_a_sum_in_the_order_of_its_terms_is_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    terminal.console.file = None  # type: ignore[assignment]  # today's stdout
    assert cli.main(["profile", "02_naive_c/linear/00"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "forward, case" in said and "backward, case" in said
    assert "on one number at a time" in said and "write several sums" in said


def test_another_language_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["profile", "01_python_function/add/00"]) == 2
    assert "works only for C" in " ".join(capsys.readouterr().err.split())
    assert cli.main(["profile"]) == 2
    assert "make profile T=03_im2col_cpu/matmul/02" in capsys.readouterr().err
