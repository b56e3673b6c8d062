# SPDX-License-Identifier: MIT
"""What the compiler says of __half is told in the course's words."""

from __future__ import annotations

import pytest

from grader.toolchain.products import failed


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
