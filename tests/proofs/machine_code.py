# SPDX-License-Identifier: MIT
"""What a step of a kernel's hot loop costs, read from nvcc's machine code for sm_90.

    python -m tests.proofs.machine_code        writes docs/results/machine_code.md

It needs nvcc and cuobjdump, but no GPU. The hot loop of a kernel is the innermost one
with the most products: FFMA of floats, HMMA of tensor cores. Where a step has an inner
loop of products, RUNGS says how often it runs, and the hot loop is the outermost one.
The figures belong to one release of nvcc.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.course.rungs import ROOT
from grader.toolchain import nvcc
from tests.proofs import grids, pages

PAGE = "machine_code.md"
LAB = ROOT / "labs" / "04_cuda_kernels"
RUNGS = {  # -> dtype, how often an inner loop with products runs in a step
    "matmul/06_warp_tile": ("f32", 1),
    "matmul/07_double_buffer": ("f32", 2),
    "matmul/09_tf32": ("f32", 1),
    "matmul/10_3xtf32": ("f32", 1),
    "matmul/12_half": ("f16", 1),
    "linear/03_half": ("f16", 1),
    "conv2d/02_implicit_gemm": ("f32", 1),
    "conv2d/05_tf32": ("f32", 1),
}
HEAD = """# What a step of the hot loops costs

Written by `python -m tests.proofs.machine_code`, from machine code for sm_90, in f32,
of `12_half` and `03_half` in f16. {release}. Instructions of a step of the hot loop,
for each product: FFMA (of 32 lanes) or HMMA (of a warp). Where a kernel has layouts,
1 says that packs run along k, of the left and of the right operand. As long as
addresses were computed in the loop, 07 had 1.71, 09 had 34.3 (17.4 with packs along
k in both), 10 had 15.5 (9.9), `conv2d/02` had 1.48 and `conv2d/05` had 28. Blocks are
those of the bench's cases: {cases}. An H100 has 132 multiprocessors."""
FUNCTION = re.compile(r"\n\s*Function : ")
INSTRUCTION = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(.+?);")
BRANCH = re.compile(r"\bBRA\b.*?0x([0-9a-f]+)")
GUARD = re.compile(r"^@!?U?P\w+\s+")
USED = re.compile(
    r"entry function '(\S+)'.*?(\d+) bytes spill stores.*?(\d+) bytes "
    r"spill loads.*?Used (\d+) registers",
    re.S,
)


@dataclass(frozen=True)
class Code:
    """A kernel's hot loop."""

    kernel: str
    registers: int
    spills: int  # bytes, stores and loads
    step: int  # instructions
    products: int  # HMMA if there are any, else FFMA
    calls: int
    inner: int  # loops inside of the hot one

    @property
    def each(self) -> float:
        """Instructions for a product."""
        return self.step / self.products


def cuobjdump() -> str:
    """Its path, beside nvcc, on PATH or in the package triton; "" if there is none."""
    beside = Path(nvcc.find()).with_name("cuobjdump")
    packaged = sorted(Path(sys.prefix).glob("lib/*/site-packages/triton/**/cuobjdump"))
    places = [str(beside), "cuobjdump", *map(str, packaged)]
    return next(filter(None, map(shutil.which, places)), "")


def compiled(rung: str) -> Iterator[Code]:
    """The kernels of a rung that multiply in a loop."""
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder) / "rung.cubin"
        flags = ["-std=c++17", "-O3", "-Xptxas", "-v", "-arch=sm_90"]
        flags += [f"-DREAL_{RUNGS[rung][0].upper()}"]
        command = [nvcc.find(), *flags, "-I", str(ROOT / "common"), "-cubin"]
        command += ["-o", str(cubin), str(LAB / f"{rung}.cu")]
        said = subprocess.run(command, capture_output=True, text=True, check=True)
        dump = [cuobjdump(), "--dump-sass", str(cubin)]
        sass = subprocess.run(dump, capture_output=True, text=True, check=True)
    used = {symbol: map(int, rest) for symbol, *rest in USED.findall(said.stderr)}
    for function in FUNCTION.split(sass.stdout)[1:]:
        symbol, _, text = function.partition("\n")
        stores, loads, registers = used[symbol.strip()]
        hot = hot_loop(INSTRUCTION.findall(text), RUNGS[rung][1])
        if hot:
            yield Code(name(symbol.strip()), registers, stores + loads, *hot)


def hot_loop(
    found: list[tuple[str, str]], runs: int
) -> tuple[int, int, int, int] | None:
    """Instructions, products, calls and inner loops of a step; None without products.

    `found` are addresses in hexadecimal and instructions. If `runs` is not 1, a step is
    the outermost loop, and an inner loop with products counts `runs` times.
    """
    names = [GUARD.sub("", text).split()[0].split(".")[0] for _, text in found]
    at = {int(address, 16): i for i, (address, _) in enumerate(found)}
    loops = []
    for i, (_, text) in enumerate(found):
        target = BRANCH.search(text)
        start = at.get(int(target[1], 16), i) if target else i
        if start < i:
            loops.append((start, i + 1))
    counts = {loop: Counter(names[slice(*loop)]) for loop in loops}
    product = "HMMA" if "HMMA" in names else "FFMA"
    sign = -1 if runs == 1 else 1
    outer = max(
        loops,
        key=lambda loop: (counts[loop][product], sign * (loop[1] - loop[0])),
        default=None,
    )
    if outer is None or counts[outer][product] < 8:
        return None
    inner = [
        loop
        for loop in loops
        if loop != outer and outer[0] <= loop[0] and loop[1] <= outer[1]
    ]
    step, products = outer[1] - outer[0], counts[outer][product]
    for loop in inner:
        if counts[loop][product]:
            step += (runs - 1) * (loop[1] - loop[0])
            products += (runs - 1) * counts[loop][product]
    return step, products, counts[outer]["CALL"], len(inner)


def name(symbol: str) -> str:
    """matmul_kernel 1 0, of _Z13matmul_kernelILb1ELb0EEv8tensor_t..."""
    match = re.match(r"_Z[NL]*(\d+)", symbol)
    if not match:
        return symbol
    rest = symbol[match.end() :]
    layouts = re.findall(r"Lb([01])E", rest)
    return " ".join([rest[: int(match[1])], *layouts])


def page() -> str:
    """What docs/results/machine_code.md holds."""
    head = ["rung", "kernel", "instructions", "products", "for each", "registers"]
    head += ["spills", "inner loops", "blocks"]
    rows = [
        [
            f"`{rung}`",
            f"`{code.kernel}`",
            code.step,
            code.products,
            f"{code.each:.2f}",
            code.registers,
            code.spills,
            code.inner,
            ", ".join(map(str, grids.blocks(rung).values())),
        ]
        for rung in RUNGS
        for code in sorted(compiled(rung), key=lambda code: code.kernel)
    ]
    cases = {rung.split("/")[0]: ", ".join(grids.blocks(rung)) for rung in RUNGS}
    known = "; ".join(f"of {ladder} {names}" for ladder, names in cases.items())
    title, text = HEAD.format(release=nvcc.release(), cases=known).split("\n\n")
    table = "\n".join(pages.table(head, rows, words=2))
    return "\n\n".join([title, textwrap.fill(text, 88), table]) + "\n"


if __name__ == "__main__":
    (pages.RESULTS / PAGE).write_text(page())
