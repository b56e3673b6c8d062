# SPDX-License-Identifier: MIT
"""How far gelu's vector functions of lab 03 are from the exact values, in ulp.

    python -m tests.labs.ulp [erf]     every float; docs/results/ulp.md (make stress)

tests/programs/ulp/walk.c walks through the floats with a function taken from its rung.
test_ulp.py does the same with some of them.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests import NATIVE, PROGRAMS, ROOT
from tests.proofs import pages

LADDER = ROOT / "labs" / "03_im2col_cpu" / "gelu"
FUSED = "fused multiply-adds"
BUILDS = {FUSED: NATIVE, "none fused": "-march=x86-64-v2"}
FLAGS = ["-O3", "-std=gnu11", "-fno-math-errno", "-ffp-contract=fast", "-fopenmp"]
EVERY, LIMIT = 1, 600  # the step through the floats; seconds
TEXT = """# gelu's functions in lab 03, float by float

Made by `python -m tests.labs.ulp` on {}.
Every float of the range was put into the function as the rung has it, and compared with
libm's in double. An ulp is the distance of neighbouring floats at the exact value."""


@dataclass(frozen=True)
class Function:
    """A vector function of a rung, and what the rung says of it."""

    rung: str
    name: str
    exact: str  # of libm
    range: tuple[str, str] = ("-inf", "inf")
    most: int | None = None  # ulp, if the rung's head comment names them


@dataclass(frozen=True)
class Walked:
    """What a walk has found."""

    tried: int
    worst: float  # ulp
    at: float
    nonsense: int  # NaN that gave a number, or the other way round


FUNCTIONS = {
    "erf": Function("01_rational", "vec_erf", "erf", most=7),
    "tanh": Function("01_rational", "vec_tanh", "tanh", most=6),
    "exp": Function("02_exponential", "vec_exp", "exp", ("-66", "0")),
}


def program(
    function: Function, folder: Path, march: str, rung: Path | None = None
) -> Path:
    """walk.c for a function of a rung, or of another file in its place."""
    source = rung or LADDER / f"{function.rung}.c"
    made = folder / f"walk_{function.name}"
    words = [f'-DRUNG="{source}"', f"-DFUNCTION={function.name}"]
    words += [f"-DEXACT={function.exact}", f"-I{ROOT / 'common'}", march, *FLAGS]
    walk = PROGRAMS / "ulp" / "walk.c"
    command = ["cc", *words, "-o", str(made), str(walk), "-lm"]
    subprocess.run(command, check=True, timeout=60)
    return made


def walk(function: Function, made: Path, step: int) -> Walked:
    """Every step-th float of the function's range."""
    command = [str(made), str(step), *function.range]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, timeout=LIMIT
    )
    tried, worst, at, nonsense = done.stdout.split()
    return Walked(int(tried), float(worst), float(at), int(nonsense))


def main(names: list[str]) -> int:
    """Walk through some functions, all by default; the others' rows stay."""
    rows, failed = known_rows(), 0
    with tempfile.TemporaryDirectory() as folder:
        for name in names or FUNCTIONS:
            rows[name], wrong = walked(name, FUNCTIONS[name], Path(folder))
            failed += wrong
    head = ["function", "from", "built", "floats", "largest error", "at", "said"]
    lines = [line for name in FUNCTIONS for line in rows.get(name, [])]
    table = "\n".join([*pages.table(head, [], words=3), *lines])
    pages.write("ulp.md", TEXT.format(pages.machine()), table)
    return 1 if failed else 0


def known_rows() -> dict[str, list[str]]:
    """The rows of the page as it is, by function."""
    file = pages.RESULTS / "ulp.md"
    lines = file.read_text().splitlines() if file.exists() else []
    return {n: [x for x in lines if x.startswith(f"| {n} |")] for n in FUNCTIONS}


def walked(name: str, function: Function, folder: Path) -> tuple[list[str], int]:
    """A function's rows, and how many of them are not as its rung says."""
    rows, wrong = [], 0
    for build, march in BUILDS.items():
        found = walk(function, program(function, folder, march), EVERY)
        said = function.most if build == FUSED else None
        if function.most and (found.nonsense or (said and found.worst > said)):
            wrong += 1
        low, high = function.range
        row = [name, f"{low} to {high}", build, f"{found.tried:,}"]
        row += [f"{found.worst:.2f}", f"{found.at:.9g}", said or "-"]
        rows.append(pages.line(row))
        print(rows[-1], flush=True)
    return rows, wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
