# SPDX-License-Identifier: MIT
"""What a compiler, an assembler and make say is told in the course's words."""

from __future__ import annotations

import pytest

from grader.toolchain.products import failed

MAKE = "make: *** [common/rung.mk:83: build/x.f32.o] Error 1\n"
ASSEMBLER = "/tmp/ccXq7.s: Assembler messages:\n/tmp/ccXq7.s:20: Error: no such thing\n"


@pytest.mark.parametrize(
    ("said", "words", "place"),
    [
        (MAKE, "it ended without a message", None),
        (f"make: *** Deleting file 'x.o'\n{MAKE}", "it ended without a message", None),
        (f"objcopy: x.o: file truncated\n{MAKE}", "objcopy: x.o: file truncated", None),
        (
            f"{MAKE}make: *** Waiting for unfinished jobs....\ncc: lost",
            "cc: lost",
            None,
        ),
        ("make: *** No rule to make target 'x.h'.  Stop.\n", "No rule to make", None),
        (f"{ASSEMBLER}{MAKE}", "the assembler: Error: no such thing", None),
        (
            f"a.c: Assembler messages:\na.c:3: Error: no such thing\n{MAKE}",
            "no such thing",
            "a.c:3",
        ),
    ],
)
def test_words_of_make_and_names_of_its_files_reach_nobody(said, words, place):
    found = failed(said)
    assert found.error.startswith(words) and found.location == place
    assert "***" not in found.error and "/tmp/cc" not in found.error


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            "ambiguous overload for ‘operator+=’ (operand types are ‘accum’ {aka "
            "‘float’} and ‘const real’ {aka ‘const __half’})",
            "in the build for float16 `real` is __half: write accum_from(x[...])",
        ),
        ("no match for ‘operator*’ (operand types are ‘Pair’ and ‘float’)", ""),
    ],
)
def test_an_operator_that_half_does_not_have_is_explained(said, words):
    found = failed(f"labs/04_cuda_kernels/add/00_a.cu:7:9: error: {said}\n")
    assert words in found.error and ("float16" in found.error) == bool(words)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("00_mine.c:1:1: error: stray '\\377' in program", "this file is UTF-16: save"),
        ("00_mine.c:3:11: error: stray '\\302' in program", "a no-break space, or"),
    ],
)
def test_characters_that_nobody_sees_are_named(said: str, words: str) -> None:
    assert words in failed(said).error
