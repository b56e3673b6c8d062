# SPDX-License-Identifier: MIT
"""The handout has no register block: what its Winograd header does instead is right.

labs/03_im2col_cpu/conv2d/register_block.h has the body that students write in
matmul/04_register_block. So the handout has a plain product there (decision 0041). A
rung may define its own block in place of this product.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from grader import operators
from grader.checks.values import each_dtype
from grader.course.rungs import Rung, Selection
from grader.course.tasks import all_tasks
from grader.engine.checking.rung_checker import Checker
from grader.engine.checking.runnable import of_build
from grader.solution_marks import REGION, starter
from grader.verdicts import Verdict
from tests import ROOT, put
from tests.labs.test_block_loops import (
    COMPILERS,
    ISAS,
    block,
    compiled,
    is_product,
    sources,
)

SEED = 11
LADDER = "03_im2col_cpu/conv2d"
HEADER = ROOT / "labs" / LADDER / "register_block.h"
RUNGS = [
    rung
    for task in all_tasks()
    for rung in task.rungs
    if task.id == LADDER and "void register_block(" in sources(rung.file)
]
NAMED = {rung.file.stem: rung for rung in RUNGS}
OWN = "#define OWN_REGISTER_BLOCK\n"

every_rung = pytest.mark.parametrize("rung", RUNGS, ids=list(NAMED))


@pytest.fixture(scope="module")
def checker(tools: Path) -> Iterator[Checker]:
    """What builds single files."""
    made = Checker(Selection((), frozenset(), whole=False), seed=SEED)
    yield made
    made.close()


def in_handout(rung: Rung, text: str = "") -> Rung:
    """A rung, or another text of it, beside the headers of a handout."""
    folder = ROOT / "build" / "plain_product" / ("own" if text else "plain") / "conv2d"
    for header in rung.headers:
        put(folder / header.name, starter(header.read_text()))
    file = put(folder / rung.file.name, text or rung.file.read_text())
    return replace(rung, file=file)


def with_own_block(rung: Rung) -> str:
    """The rung with the block that the header of the repository has."""
    header, text = HEADER.read_text(), rung.file.read_text()
    block = re.search(r"#ifndef OWN_REGISTER_BLOCK\n(.*?)#endif\n", header, re.S)
    assert block
    last = list(re.finditer(r"#include .*\n", text))[-1].end()
    return f"{OWN}{text[:last]}\n{block[1]}{text[last:]}"


def wrong_checks(checker: Checker, rung: Rung) -> list[object]:
    """The checks of its values and gradients that a file does not pass."""
    built = checker.builds.whole(rung)
    subject = of_build(rung, built, operators.get(rung.operator))
    try:
        cases = subject.cases(SEED)
        found = [each_dtype.check(subject, cases, d, SEED) for d in built.directions]
    finally:
        subject.close()
    assert found
    return [c for some in found for c in some if c.verdict is not Verdict.PASS]


def test_the_rungs_with_this_product_are_the_winograd_rungs() -> None:
    assert len(RUNGS) == 5 and all("_winograd_" in name for name in NAMED)
    assert len(REGION.findall(HEADER.read_text())) == 1


@every_rung
def test_a_rung_is_right_with_the_product_of_the_handout(
    checker: Checker, rung: Rung
) -> None:
    assert wrong_checks(checker, in_handout(rung)) == []


def test_a_rung_is_right_with_a_block_of_its_own(checker: Checker) -> None:
    rung = NAMED["10_winograd_4x4"]
    assert wrong_checks(checker, in_handout(rung, with_own_block(rung))) == []


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_register_block_is_in_the_rung_alone(
    compiler: str, isa: str, tmp_path: Path
) -> None:
    """Its loop is found in the object code if the rung defines it, else not."""
    rung = NAMED["10_winograd_4x4"]
    rows, vectors = block(HEADER.read_text(), isa)
    plain = compiled(in_handout(rung).file, compiler, isa, "f32", tmp_path)
    assert [loop for loop in plain if is_product(loop)] == []
    file = in_handout(rung, with_own_block(rung)).file
    own = [x for x in compiled(file, compiler, isa, "f32", tmp_path) if is_product(x)]
    assert any(x.multiply_adds == rows * vectors for x in own)
