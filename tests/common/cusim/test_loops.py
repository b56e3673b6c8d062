# SPDX-License-Identifier: MIT
"""Loops that tell of their turns; tests/programs/cusim/loops.cu counts with them."""

from __future__ import annotations

import pytest
from cusim.rewrite import rewrite

from tests.common.cusim.test_rewrite import END, in_kernel, words

TOLD = "if (::cusim::Loop cusim_loop_0(0); false) {} else "


@pytest.mark.parametrize(
    ("loop", "rewritten"),
    [
        (
            "for (int i = 0; i < 9; i++) f(i);",
            "for (int i = 0; cusim_loop_0.next(), (i < 9); i++) f(i);",
        ),
        ("for (;;) f();", "for (;cusim_loop_0.next(), true;) f();"),
        ("while (a, b) f();", "while (cusim_loop_0.next(), (a, b)) f();"),
        (
            "do { f(); } while (x == 1);",
            "do { f(); } while (cusim_loop_0.next(), (x == 1));",
        ),
        ("while (x = g()) f();", "while (cusim_loop_0.next(), (x = g())) f();"),
    ],
)
def test_a_loop_tells_of_its_turns(loop: str, rewritten: str) -> None:
    text = words(rewrite(f"__cusim_global__ void k() {{ {loop} }}\n", loops=True))
    assert text == f"void k() {{ {TOLD}{rewritten}{END}"
    assert in_kernel(loop) == loop  # only where accesses are counted


@pytest.mark.parametrize(
    "function",
    [
        "void k() { for (int x : y) f(x); }",
        "void k() { while (int x = g()) f(x); }",
        "void k() { for (; auto *x = g();) f(x); }",
        "constexpr int k() { while (g()) f(); return 1; }",
        "void k() { again: while (g()) goto again; }",
        "void k() { switch (n) { do { case 1: f(); } while (g()); } }",
    ],
)
def test_a_loop_that_cannot_tell_of_its_turns_stays(function: str) -> None:
    assert words(rewrite(f"{function}\n", loops=True)) == function


def test_a_loop_to_be_unrolled_is_a_loop_for_both_compilers():
    """clang takes nothing else than a loop behind the pragma."""
    text = (
        "void f(int *x)\n{\n#pragma unroll 4\n"
        "    for (int i = 0; i < 8; i++) x[i] = i;\n}\n"
    )
    rewritten = rewrite(text, loops=True)
    assert "pragma" not in rewritten and "cusim_loop_0" in rewritten
    assert rewritten.count("\n") == text.count("\n")
    assert "pragma unroll 4" in rewrite(text)
