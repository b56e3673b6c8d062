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
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from grader.course.rungs import ROOT
from tests import LEVELS, output_of, put

LAB = ROOT / "labs" / "03_im2col_cpu"
ROWS = 6  # BLOCK_ROWS
VECTORS = {"avx2": 2, "avx512": 4}  # BLOCK_VECTORS
RUNGS = [file for file in sorted(LAB.glob("*/*.c")) if "BLOCK_ROWS" in file.read_text()]
NAMES = [f"{file.parent.name}/{file.stem}" for file in RUNGS]
COMPILERS = ["gcc", "clang"]
TUNED = "-mtune=znver2"  # for AMD gcc lets multiply-adds read memory wherever it can
INSTRUCTION = re.compile(r"\s*([0-9a-f]+):\s+(\S+)\s*([^#]*)")
TARGET = re.compile(r"([0-9a-f]+) <")
SECONDS = 120.0


@dataclass(frozen=True)
class Loop:
    """The instructions of an innermost loop: names and operands."""

    body: list[tuple[str, str]]
    frame: bool  # whether rbp holds the function's frame, not just any pointer

    def multiply_adds(self) -> int:
        return sum(
            bool(re.match(r"vfn?m(add|sub)\w+p[sd]", name)) for name, _ in self.body
        )

    def loads(self) -> int:
        """Vectors and numbers in all lanes that come from memory; a store's operand is
        its last.
        """
        return sum(not place.endswith(")") for place in self._vectors_in_memory())

    def is_product(self) -> bool:
        """Whether numbers go to all lanes and are multiplied."""
        broadcasts = [n for n, o in self.body if "broadcast" in n and "(" in o]
        return self.multiply_adds() > 1 and len(broadcasts) > 0

    def spills(self) -> list[str]:
        """Operands on the stack."""
        stack = r"\(%r[sb]p" if self.frame else r"\(%rsp"
        return [o for o in self._vectors_in_memory() if re.search(stack, o)]

    def _vectors_in_memory(self) -> list[str]:
        return [o for _, o in self.body if re.search("%[xyz]mm", o) and "(" in o]


def compiled(file: Path, compiler: str, isa: str, dtype: str, to: Path) -> list[Loop]:
    """The innermost loops of a rung, built with rung.mk's flags for this ISA."""
    if not shutil.which(compiler):
        pytest.skip(f"needs {compiler}: make system-packages")
    march = f"MARCH_HERE={LEVELS[isa]} {TUNED}"
    rung = ["make", "-s", "-f", "common/rung.mk", f"RUNG={file}", march, "flags"]
    flags = output_of(rung, seconds=SECONDS, cwd=ROOT).split()
    made = str(to / "rung.o")
    command = [compiler, *flags, f"-DREAL_{dtype.upper()}", "-c", str(file), "-o", made]
    output_of(command, seconds=SECONDS, cwd=ROOT)
    shown = output_of(["objdump", "-d", "--no-show-raw-insn", made], seconds=SECONDS)
    return [loop for code in shown.split("\n\n") for loop in innermost(code)]


def innermost(code: str) -> Iterator[Loop]:
    """A jump back closes a loop; loops around others are left out."""
    found = [m.groups() for m in map(INSTRUCTION.match, code.splitlines()) if m]
    steps = [(int(at, 16), name, rest.strip()) for at, name, rest in found]
    jumps = [
        (int(target[1], 16), at)
        for at, name, rest in steps
        if name.startswith("j") and (target := TARGET.match(rest))
    ]
    back = [(to, at) for to, at in jumps if steps[0][0] <= to <= at]
    frame = any(rest == "%rsp,%rbp" for _, _, rest in steps)
    for first, last in back:
        inside = [b for b in back if first <= b[0] and b[1] <= last]
        if len(inside) == 1:
            body = [(n, rest) for at, n, rest in steps if first <= at <= last]
            yield Loop(body, frame)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("isa", VECTORS)
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("file", RUNGS, ids=NAMES)
def test_a_block_stays_in_registers(
    file: Path, compiler: str, isa: str, dtype: str, tmp_path: Path
) -> None:
    loops = compiled(file, compiler, isa, dtype, tmp_path)
    products = [loop for loop in loops if loop.is_product()]
    assert [loop.spills() for loop in products if loop.spills()] == []
    whole = [x for x in products if x.multiply_adds() == ROWS * VECTORS[isa]]
    assert whole, f"multiply-adds in loops: {[x.multiply_adds() for x in products]}"
    assert max(loop.loads() for loop in whole) <= ROWS + VECTORS[isa]


def test_the_ladder_of_matmul_is_read() -> None:
    assert {"matmul/04_register_block", "matmul/05_packed"} <= set(NAMES)


def test_vectors_that_do_not_fit_are_loaded_for_each_row(tmp_path: Path) -> None:
    """4 x 3 sums, 3 vectors and a number in all lanes: all of 16 registers."""
    text = (LAB / "matmul" / "05_packed.c").read_text()
    wide = text.replace("MR = BLOCK_ROWS, NV = BLOCK_VECTORS", "MR = 4, NV = 3")
    assert wide != text
    assert wide.count("vec_keep(") == 1
    loose = put(tmp_path / "rung.c", wide.replace("vec_keep(", "("))
    loops = compiled(loose, "gcc", "avx2", "f32", tmp_path)
    whole = [x for x in loops if x.multiply_adds() == 4 * 3]
    assert max(loop.loads() for loop in whole) > 4 + 3


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_block_of_too_many_sums_is_seen_on_the_stack(
    compiler: str, tmp_path: Path
) -> None:
    text = (LAB / "matmul" / "05_packed.c").read_text()
    high = text.replace("MR = BLOCK_ROWS", "MR = BLOCK_ROWS + 3")
    assert high != text
    loops = compiled(put(tmp_path / "rung.c", high), compiler, "avx2", "f32", tmp_path)
    assert any(loop.spills() for loop in loops if loop.is_product())
