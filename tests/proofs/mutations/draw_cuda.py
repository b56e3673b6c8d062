# SPDX-License-Identifier: MIT
"""Draws the mutations of CUDA kernels: one token changed, the list fixed by a seed.

As draw.py does it for labs 01 and 02, over all rungs of lab 04 that cusim can run. CUDA
has mistakes of its own, and some of them have few tokens, so that each kind has its
share (KINDS), spread evenly over the files; of the launchers' tokens one in four may be
drawn. `drawn_cuda.json` is committed before the
first run; who changes a rung that it names draws again:

    python -m tests.proofs.mutations.draw_cuda [--check] [--seed S --file FILE.json]

    barrier     __syncthreads, __syncwarp or a fence is dropped
    wait        a wait for cp.async, or the commit that it counts, is dropped
    mask        a hexadecimal mask or a shift is one bit off, a shuffle goes elsewhere
    predicate   an `if` or a choice is always taken (one that returns: never), && is ||
    compare     < becomes <= or >, and so on
    number      one more, one less; a power of two half as much
    operator    + - * / % << >> & | ^ += -=: another one
    name        another variable of its type that is known here; .x and .y, threadIdx
                and blockIdx, rows and columns, size and stride

Not drawn: comments, STARTER lines, directives, types, names where they are declared,
launch bounds, what has no meaning but for the compiler.
"""

from __future__ import annotations

import argparse
import functools
import sys
from pathlib import Path

from tests import PROGRAMS, ROOT
from tests.proofs.mutations.cuda_tokens import CudaFile, Token
from tests.proofs.mutations.draw import Mutation, Taken, kept, listing, lot
from tests.proofs.mutations.draw import committed as drawn_in

DRAWN = PROGRAMS / "mutations" / "drawn_cuda.json"
LAB = "04_cuda_kernels"
SEED = 20261122
KINDS = {  # how many of each; what one kind lacks is made up for by the last three
    "barrier": 8,
    "wait": 4,
    "mask": 4,
    "predicate": 8,
    "compare": 8,
    "number": 9,
    "operator": 9,
    "name": 10,
}
FILL = ("name", "operator", "number")

# ---- the draw ------------------------------------------------------------------------


def sources() -> list[Path]:
    """The rungs that cusim can run; an exhibit of a bug hunt is none."""
    from grader.course.tasks import all_tasks

    return [
        rung.file
        for task in all_tasks()
        if task.lab == LAB and not task.is_hunt
        for rung in task.rungs
        if rung.needs != "gpu"
    ]


def draw(
    files: list[Path], seed: int = SEED, *, letter: str = "c", taken: Taken = ()
) -> list[Mutation]:
    """The mutations: each kind by its share, no token twice and none that is `taken`,
    files in turn.
    """
    draws = functools.partial(lot, seed=seed)
    pool: dict[str, list[tuple[str, Token]]] = {kind: [] for kind in KINDS}
    for file in files:
        name = str(file.relative_to(ROOT))
        read = CudaFile(file.read_text())
        for token in read.eligible():
            place = (token.line, token.column)
            if (name, *place) in taken:
                continue
            if read.in_kernel(*place) or draws("host", name, *place) % 4 == 0:
                pool[token.kind].append((name, token))
    for kind, found in pool.items():
        found.sort(key=lambda f: draws(kind, f[0], f[1].line, f[1].column))
    wanted = dict(KINDS)
    drawn: list[tuple[str, Token]] = []
    taken = dict.fromkeys((str(file.relative_to(ROOT)) for file in files), 0)
    for kind in [*KINDS, *FILL]:
        while wanted[kind] and pool[kind]:
            least = min(pool[kind], key=lambda f: taken[f[0]])  # the first of those
            pool[kind].remove(least)
            taken[least[0]] += 1
            wanted[kind] -= 1
            drawn.append(least)
        if kind not in FILL:
            wanted["name"] += wanted.pop(kind)
            wanted[kind] = 0
    drawn.sort(key=lambda f: (f[0], f[1].line, f[1].column))
    made = []
    for i, (file, token) in enumerate(drawn, 1):
        pick = draws("becomes", file, token.line, token.column)
        new = token.choices[pick % len(token.choices)]
        fields = (file, token.line, token.column, token.text, new)
        made.append(Mutation(f"{letter}{i:02}", *fields))
    return made


def record(files: list[Path], seed: int = SEED) -> str:
    """What drawn_cuda.json holds."""
    return listing(files, draw(files, seed), {"seed": seed})


def committed(file: Path = DRAWN) -> tuple[list[Mutation], dict[str, str]]:
    """The mutations of a list, and the fingerprints of the files drawn from."""
    return drawn_in(file)


def kind_of(mutation: Mutation) -> str:
    """Of which kind a drawn mutation is."""
    text = (ROOT / mutation.file).read_text()
    place = (mutation.line, mutation.column)
    found = CudaFile(text).eligible()
    return next(t.kind for t in found if (t.line, t.column) == place)


def main() -> int:
    """Write the list, or compare it with what would be drawn."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--file", type=Path, default=DRAWN)
    words = parser.parse_args()
    return kept(words.file, record(sources(), words.seed), check=words.check)


if __name__ == "__main__":
    sys.exit(main())
