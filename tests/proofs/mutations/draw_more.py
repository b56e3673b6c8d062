# SPDX-License-Identifier: MIT
"""Draws 60 more mutations of labs 01 to 04, and reads 60 that were written by hand.

By the rules of draw.py and draw_cuda.py; a token that another list has drawn is not
drawn again. The seed is the date of the draw. `drawn_more.json` and `written.toml` are
committed before they are run; who changes a rung draws again (run_more.py grades):

    python -m tests.proofs.mutations.draw_more [--check]
"""

from __future__ import annotations

import sys
import tomllib

from tests import PROGRAMS, ROOT
from tests.proofs.mutations import draw, draw_all, draw_cuda, draw_ladders
from tests.proofs.mutations.draw import Mutation
from tests.proofs.mutations.frame import sample

DRAWN = PROGRAMS / "mutations" / "drawn_more.json"
WRITTEN = PROGRAMS / "mutations" / "written.toml"
SEED = 20261127
COUNTS = {"01_python_function": 12, "02_naive_c": 16, "03_im2col_cpu": 22}
OF_CUDA = 10
LETTERS = "xyzc"  # with which the ids of the four labs begin


def mutations() -> list[Mutation]:
    """What is drawn, by lab."""
    others = (draw.DRAWN, draw_ladders.DRAWN, draw_cuda.DRAWN, draw_all.DRAWN)
    earlier = [m for file in others for m in draw.committed(file)[0]]
    taken = {(m.file, m.line, m.column) for m in earlier}
    drawn: list[Mutation] = []
    for letter, (lab, count) in zip(LETTERS, COUNTS.items()):
        files = draw.sources((lab,), draw_all.OPERATORS)
        drawn += draw.draw(files, count, letter, seed=SEED, taken=taken)
    files = draw_cuda.sources()
    cuda = draw_cuda.draw(files, SEED, letter=LETTERS[-1], taken=taken)
    return [*drawn, *sample(cuda, OF_CUDA, SEED)]


def record() -> str:
    """What drawn_more.json holds."""
    return draw.listing(draw_all.sources(), mutations(), {"seed": SEED})


def written() -> dict[str, str]:
    """What is wrong with each that was written by hand."""
    return {n: entry["what"] for n, entry in tomllib.loads(WRITTEN.read_text()).items()}


def by_hand() -> list[Mutation]:
    """Those that were written by hand. Raises ValueError if one does not fit."""
    found = []
    for name, entry in tomllib.loads(WRITTEN.read_text()).items():
        text = (ROOT / entry["file"]).read_text()
        before, *after = text.split(entry["old"])
        if len(after) != 1:
            raise ValueError(f"{name}: not once in {entry['file']}: {entry['old']}")
        place = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1)
        found.append(Mutation(name, entry["file"], *place, entry["old"], entry["new"]))
    return found


def committed() -> tuple[list[Mutation], dict[str, str]]:
    """All of them, and the fingerprints of the files drawn from."""
    drawn, hashes = draw.committed(DRAWN)
    return [*drawn, *by_hand()], hashes


if __name__ == "__main__":
    sys.exit(draw.kept(DRAWN, record(), check="--check" in sys.argv))
