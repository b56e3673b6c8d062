# SPDX-License-Identifier: MIT
"""Draws 200 more mutations: every rung of labs 01 to 04, all ten operators.

By the rules of draw.py, with at least one of each file, and in lab 04 by those of
draw_cuda.py; a token that one of the other lists has drawn is not drawn again. The seed
is the date of the draw, written down before it. `drawn_all.json` is committed before it
is run; who changes a rung draws again, and grades what is new (run_all.py):

    python -m tests.proofs.mutations.draw_all [--check]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests import PROGRAMS
from tests.proofs.mutations import draw, draw_cuda, draw_ladders
from tests.proofs.mutations.draw import Mutation

DRAWN = PROGRAMS / "mutations" / "drawn_all.json"
SEED = 20261125
OPERATORS = (*draw.OPERATORS, *draw_ladders.OPERATORS)
COUNTS = {  # of lab 04 as many as draw_cuda.KINDS has: 60
    "01_python_function": 33,
    "02_naive_c": 33,
    "03_im2col_cpu": 74,
}
LETTERS = "pqrs"  # with which the ids of the four labs begin


def sources() -> list[Path]:
    """The rungs, by lab."""
    return [*draw.sources((*COUNTS,), OPERATORS), *draw_cuda.sources()]


def mutations() -> list[Mutation]:
    """What is drawn, by lab."""
    others = (draw.DRAWN, draw_ladders.DRAWN, draw_cuda.DRAWN)
    earlier = [m for file in others for m in draw.committed(file)[0]]
    taken = {(m.file, m.line, m.column) for m in earlier}
    drawn: list[Mutation] = []
    for letter, (lab, count) in zip(LETTERS, COUNTS.items()):
        files = draw.sources((lab,), OPERATORS)
        drawn += draw.draw(files, count, letter, seed=SEED, least=1, taken=taken)
    files = draw_cuda.sources()
    drawn += draw_cuda.draw(files, SEED, letter=LETTERS[-1], taken=taken)
    return drawn


def record() -> str:
    """What drawn_all.json holds."""
    return draw.listing(sources(), mutations(), {"seed": SEED})


def committed() -> tuple[list[Mutation], dict[str, str]]:
    """The mutations, and the fingerprints of the files drawn from."""
    return draw.committed(DRAWN)


def main() -> int:
    """Write the list, or compare it with what would be drawn."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    return draw.kept(DRAWN, record(), check=parser.parse_args().check)


if __name__ == "__main__":
    sys.exit(main())
