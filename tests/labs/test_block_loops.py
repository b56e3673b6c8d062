# SPDX-License-Identifier: MIT
"""The innermost loop of each matrix product of lab 03, read in its object code.

vector.h says how many sums a register block has. Whether a compiler keeps them in
registers shows in the loop: no vector goes to the stack, and rows x columns
multiply-adds take rows + columns loads. Nothing runs here, so that a machine without
AVX-512 or AVX2 checks both.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from grader.bench.profile.object_code import Loop, loops
from grader.course.rungs import ROOT
from tests import LEVELS, output_of, put

LAB = ROOT / "labs" / "03_im2col_cpu"
SIZES = {  # as vector.h has them
    "avx2": {
        "BLOCK_ROWS": 6,
        "BLOCK_VECTORS": 2,
        "CHANNEL_ROWS": 6,
        "CHANNEL_VECTORS": 2,
    },
    "avx512": {
        "BLOCK_ROWS": 8,
        "BLOCK_VECTORS": 3,
        "CHANNEL_ROWS": 6,
        "CHANNEL_VECTORS": 4,
    },
}
ISAS = ["avx2", "avx512"]


def sources(file: Path) -> str:
    """A rung's text, and that of its ladder's headers that it includes."""
    text = file.read_text()
    included = [file.parent / name for name in re.findall(r'#include "(.+)"', text)]
    return text + "".join(sources(header) for header in included if header.exists())


RUNGS = [
    f for f in sorted(LAB.glob("*/*.c")) if re.search("= (BLOCK|CHANNEL)_", sources(f))
]
NAMES = [f"{file.parent.name}/{file.stem}" for file in RUNGS]
COMPILERS = ["gcc", "clang"]
TUNED = "-mtune=znver2"  # for AMD gcc lets multiply-adds read memory wherever it can
SECONDS = 120.0


def block(text: str, isa: str) -> tuple[int, int]:
    """Rows and vectors of a rung's register block: numbers, or names of vector.h."""
    named = re.search(r"MR = (\w+),.*? NV = (\w+)", text)
    assert named, "no block of MR rows and NV vectors"
    rows, vectors = (SIZES[isa].get(size) or int(size) for size in named.groups())
    return rows, vectors


def is_product(loop: Loop) -> bool:
    """Whether numbers go to all lanes, are multiplied, and only the stack, if anything,
    is written to.
    """
    used = loop.in_memory()
    broadcasts = [i for i in used if "broadcast" in i.name]
    stores = [i for i in used if i.operands.endswith(")")]
    elsewhere = [i for i in stores if not loop.is_on_stack(i)]
    vectors = loop.multiply_adds > 1 and not loop.is_scalar
    return vectors and bool(broadcasts) and not elsewhere


def compiled(file: Path, compiler: str, isa: str, dtype: str, to: Path) -> list[Loop]:
    """The innermost loops of a rung, built with rung.mk's flags for this ISA."""
    if not shutil.which(compiler):
        pytest.skip(f"needs {compiler}: make system-packages")
    march = f"MARCH_HERE={LEVELS[isa]} {TUNED}"
    rung = ["make", "-s", "-f", "common/rung.mk", f"RUNG={file}", march, "flags"]
    flags = output_of(rung, seconds=SECONDS, cwd=ROOT).split()
    made = str(to / "rung.o")
    beside = f"-I{LAB / 'matmul'}"  # its header, where the rung is a changed copy
    dtyped = f"-DREAL_{dtype.upper()}"
    command = [compiler, *flags, beside, dtyped, "-c", str(file), "-o", made]
    output_of(command, seconds=SECONDS, cwd=ROOT)
    return loops(to / "rung.o", file)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("file", RUNGS, ids=NAMES)
def test_a_block_stays_in_registers(
    file: Path, compiler: str, isa: str, dtype: str, tmp_path: Path
) -> None:
    found = compiled(file, compiler, isa, dtype, tmp_path)
    products = [loop for loop in found if is_product(loop)]
    assert [loop.spills for loop in products if loop.spills] == []
    rows, vectors = block(sources(file), isa)
    whole = [loop for loop in products if loop.multiply_adds == rows * vectors]
    assert whole, f"multiply-adds in loops: {[x.multiply_adds for x in products]}"
    assert max(loop.loads for loop in whole) <= rows + vectors


def test_every_product_is_read() -> None:
    assert len(RUNGS) == 17


def test_vectors_that_do_not_fit_are_loaded_for_each_row(tmp_path: Path) -> None:
    """4 x 3 sums, 3 vectors and a number in all lanes: all of 16 registers."""
    text = (LAB / "matmul" / "05_packed.c").read_text()
    wide = text.replace("MR = BLOCK_ROWS, NV = BLOCK_VECTORS", "MR = 4, NV = 3")
    assert wide != text
    assert wide.count("vec_keep(") == 1
    loose = put(tmp_path / "rung.c", wide.replace("vec_keep(", "("))
    found = compiled(loose, "gcc", "avx2", "f32", tmp_path)
    whole = [x for x in found if x.multiply_adds == 4 * 3]
    assert max(loop.loads for loop in whole) > 4 + 3


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_block_of_too_many_sums_is_seen_on_the_stack(
    compiler: str, tmp_path: Path
) -> None:
    text = (LAB / "matmul" / "05_packed.c").read_text()
    high = text.replace("MR = BLOCK_ROWS", "MR = BLOCK_ROWS + 3")
    assert high != text
    found = compiled(put(tmp_path / "rung.c", high), compiler, "avx2", "f32", tmp_path)
    assert any(loop.spills for loop in found if is_product(loop))
