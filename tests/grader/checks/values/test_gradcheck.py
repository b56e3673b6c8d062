# SPDX-License-Identifier: MIT
"""gradcheck over the worker: how small a mistake in a gradient it still sees.

PyTorch's default tolerances (rtol 1e-3) would let every mistake below pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from grader import operators
from grader.checks.subject import Subject
from grader.checks.values import gradient
from grader.course.rungs import ROOT
from grader.verdicts import Verdict

CONV2D = ROOT / "labs" / "02_naive_c" / "conv2d" / "00_definition.c"
Compile = Callable[[str], dict[str, Path]]

# which line of the reference carries each gradient, and the same line slightly wrong
SLIGHTLY_WRONG = {
    "bias": ("*at1(grad_bias, oc) += grad;", "*at1(grad_bias, oc) += grad * {f};"),
    "weight": ("ic, kh, kw) += grad * x;", "ic, kh, kw) += grad * x * {f};"),
    "input": ("ih, iw) += grad * w;", "ih, iw) += grad * w * {f};"),
}


@contextmanager
def conv2d(compile_rung: Compile, source: str) -> Iterator[Subject]:
    """A subject from the text of a conv2d rung."""
    built = compile_rung(source)
    libraries = {dtype: (path, path) for dtype, path in built.items()}
    subject = Subject(operators.get("conv2d"), libraries=libraries)
    yield subject
    subject.close()


def verdict(subject: Subject) -> Verdict:
    """gradcheck's verdict on the cases of the operator's file."""
    return gradient.gradcheck(subject, subject.operator.cases(3, drawn=0), 3).verdict


@pytest.mark.parametrize(
    ("name", "factor", "found"),
    [
        pytest.param("bias", "1", Verdict.PASS, id="the_reference"),
        pytest.param("bias", "(real)(1 + 1e-15)", Verdict.PASS, id="one_rounding"),
        *((name, "(real)1.00001", Verdict.WRONG_GRADIENT) for name in SLIGHTLY_WRONG),
    ],
)
def test_a_gradient_wrong_by_1e_5_is_rejected_and_by_one_rounding_is_not(
    compile_rung: Compile, name: str, factor: str, found: Verdict
) -> None:
    right, wrong = SLIGHTLY_WRONG[name]
    source = CONV2D.read_text()
    assert source.count(right) == 1
    source = source.replace(right, wrong.format(f=factor))
    with conv2d(compile_rung, source) as subject:
        assert verdict(subject) is found
