# SPDX-License-Identifier: MIT
"""What a step of a kernel's hot loop costs, read from nvcc's machine code for sm_90.

    python -m tests.proofs.machine_code        writes docs/results/machine_code.md

It needs nvcc and cuobjdump, but no GPU. The hot loop of a kernel is the innermost one
with the most products: FFMA of floats, HMMA of tensor cores. Where this is a part of a
step, RUNGS says how often it runs in one, and the hot loop is the next one around it.
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
RUNGS = {  # -> dtype, how often the innermost loop runs in a step
    "matmul/06_warp_tile": ("f32", 1),
    "matmul/07_double_buffer": ("f32", 2),
    "matmul/09_tf32": ("f32", 1),
    "matmul/10_3xtf32": ("f32", 1),
    "matmul/12_half": ("f16", 1),
    "linear/03_half": ("f16", 1),
    "conv2d/02_implicit_gemm": ("f32", 1),
    "conv2d/05_tf32": ("f32", 1),
    "conv2d/06_half": ("f16", 1),
}
WALKS = {  # the same, of rungs that walk over images or points
    "conv2d/03_backward_input": ("f32", 4),
    "depthwise_conv2d/02_register_column": ("f32", 1),
    "depthwise_conv2d/04_filter_sums": ("f32", 1),
    "subm_conv3d/02_gathered_tile": ("f32", 1),
    "subm_conv3d/03_tile_backward": ("f32", 1),
}
BEFORE = ("1.56, 5 divisions a tap", "5.67", "47.56, 3 divisions", "8.06", "8.06")
HEAD = """# What a step of the hot loops costs

Written by `python -m tests.proofs.machine_code`, from machine code for sm_90, in f32,
of the rungs `half` in f16. {release}. Instructions of a step of the hot loop,
for each product: FFMA (of 32 lanes) or HMMA (of a warp). Where a kernel has layouts,
1 says that packs run along k, of the left and of the right operand. As long as
addresses were computed in the loop, 07 had 1.71, 09 had 34.3 (17.4 with packs along
k in both), 10 had 15.5 (9.9), `conv2d/02` had 1.48 and `conv2d/05` had 28. Blocks are
those of the bench's cases: {cases}. An H100 has 132 multiprocessors."""
WALKING = """In these rungs divisions and products of 64 bits left the loops: addresses
are computed before them. The column `before` says what an FFMA took until then, without
the instructions of the divisions, which were calls."""
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
        dtype, runs = {**RUNGS, **WALKS}[rung]
        flags += [f"-DREAL_{dtype.upper()}"]
        command = [nvcc.find(), *flags, "-I", str(ROOT / "common"), "-cubin"]
        command += ["-o", str(cubin), str(LAB / f"{rung}.cu")]
        said = subprocess.run(command, capture_output=True, text=True, check=True)
        dump = [cuobjdump(), "--dump-sass", str(cubin)]
        sass = subprocess.run(dump, capture_output=True, text=True, check=True)
    used = {symbol: map(int, rest) for symbol, *rest in USED.findall(said.stderr)}
    for function in FUNCTION.split(sass.stdout)[1:]:
        symbol, _, text = function.partition("\n")
        stores, loads, registers = used[symbol.strip()]
        hot = hot_loop(INSTRUCTION.findall(text), runs)
        if hot:
            yield Code(name(symbol.strip()), registers, stores + loads, *hot)


def hot_loop(
    found: list[tuple[str, str]], runs: int
) -> tuple[int, int, int, int] | None:
    """Instructions, products, calls and inner loops of a step; None without products.

    `found` are addresses in hexadecimal and instructions. If `runs` is not 1, a step is
    the loop around the innermost one with products, which counts `runs` times.
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
    by_products = [(counts[loop][product], loop[0] - loop[1], loop) for loop in loops]
    most, _, hot = max(by_products, default=(0, 0, (0, 0)))
    if most < 8:
        return None
    outer = hot
    if runs != 1:
        around = [loop for loop in loops if loop[0] <= hot[0] and hot[1] < loop[1]]
        outer = min(around, key=lambda loop: loop[1] - loop[0])
    step = outer[1] - outer[0] + (runs - 1) * (hot[1] - hot[0])
    products = counts[outer][product] + (runs - 1) * most
    inner = [loop for loop in loops if outer[0] <= loop[0] and loop[1] <= outer[1]]
    return step, products, counts[outer]["CALL"], len(inner) - 1


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
    head += ["spills", "inner loops"]
    rows = [
        [*row, ", ".join(map(str, grids.blocks(rung).values()))]
        for rung in RUNGS
        for row in lines(rung)
    ]
    walks = [
        [*row, before] for rung, before in zip(WALKS, BEFORE) for row in lines(rung)
    ]
    cases = {rung.split("/")[0]: ", ".join(grids.blocks(rung)) for rung in RUNGS}
    listed = "; ".join(f"of {ladder} {names}" for ladder, names in cases.items())
    title, text = HEAD.format(release=nvcc.release(), cases=listed).split("\n\n")
    table = "\n".join(pages.table([*head, "blocks"], rows, words=2))
    walk = "\n".join(pages.table([*head, "before"], walks, words=2))
    parts = [title, textwrap.fill(text, 88), table, WALKING, walk]
    return "\n\n".join(parts) + "\n"


def lines(rung: str) -> Iterator[list[object]]:
    """What the page says of each kernel of a rung."""
    for code in sorted(compiled(rung), key=lambda code: code.kernel):
        yield [
            f"`{rung}`",
            f"`{code.kernel}`",
            code.step,
            code.products,
            f"{code.each:.2f}",
            code.registers,
            code.spills,
            code.inner,
        ]


if __name__ == "__main__":
    (pages.RESULTS / PAGE).write_text(page())
