# SPDX-License-Identifier: MIT
"""How many blocks the top rungs of lab 04 start on the cases of the bench.

Tile sizes are read from the rungs. How conv2d/02, 05 and 06 split sums over
blocks is splits_of in conv2d/splits.h.
"""

from __future__ import annotations

import contextlib
import re
from math import ceil, prod

from grader import operators
from grader.course.rungs import ROOT
from grader.course.tasks import all_tasks
from grader.course.traffic import value
from grader.errors import GraderError
from grader.operators import Case

LAB = ROOT / "labs" / "04_cuda_kernels"
ENUM = re.compile(r"enum \{(.*?)\};", re.S)
NUMBER = re.compile(r"(\w+)\s*=\s*([\w *+/()-]+)")


def blocks(rung: str) -> dict[str, int]:
    """Case -> blocks, of a rung of these ladders ("conv2d/02_implicit_gemm")."""
    ladder = rung.split("/")[0]
    (task,) = [t for t in all_tasks() if t.id == f"{LAB.name}/{ladder}"]
    cases = operators.get(ladder).speed_cases()
    sizes = constants((LAB / f"{rung}.cu").read_text())
    of = {"matmul": of_matmul, "linear": of_linear, "conv2d": of_conv2d}[ladder]
    return {name: of(cases[name], sizes) for name in task.bench}


def constants(text: str) -> dict[str, int]:
    """The numbers of a file's enums that earlier ones explain."""
    sizes: dict[str, int] = {}
    for name, formula in NUMBER.findall(", ".join(ENUM.findall(text))):
        with contextlib.suppress(GraderError):  # sizeof, or a name of another file
            sizes[name] = int(value(formula.strip(), sizes))
    return sizes


def of_matmul(case: Case, sizes: dict[str, int]) -> int:
    """A block has a tile of output."""
    M, N = case.shapes["input"][-2], case.shapes["other"][-1]
    return ceil(M / sizes["BM"]) * ceil(N / sizes["BN"])


def of_linear(case: Case, sizes: dict[str, int]) -> int:
    """The same; all leading axes of input are rows."""
    R = prod(case.shapes["input"][:-1])
    return ceil(R / sizes["BM"]) * ceil(case.sizes["OC"] / sizes["BN"])


def of_conv2d(case: Case, sizes: dict[str, int]) -> int:
    """A block has some of the terms of a tile, as splits_of says."""
    size, stride = case.sizes, case.options.get("stride", 1)
    padding = 2 * case.options.get("padding", 0)
    OH = (size["IH"] + padding - size["KH"]) // stride + 1
    OW = (size["IW"] + padding - size["KW"]) // stride + 1
    K = size["IC"] * size["KH"] * size["KW"]
    tiles = ceil(size["OC"] / sizes["BM"])
    tiles *= ceil(size["N"] * OH * OW / sizes["BN"])
    splits = max(1, min(sizes["BLOCKS"] // tiles, K // sizes["LEAST"]))
    terms = ceil(ceil(K / splits) / sizes["BK"]) * sizes["BK"]
    return ceil(K / terms) * tiles
