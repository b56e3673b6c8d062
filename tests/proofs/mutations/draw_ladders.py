# SPDX-License-Identifier: MIT
"""Draws mutations of five more operators: labs 01 and 03, by the rules of draw.py.

`drawn_ladders.json` is committed before the first run; who changes a rung that it names
draws again, then from the rungs that have come since as well:

    python -m tests.proofs.mutations.draw_ladders [--check]
"""

from __future__ import annotations

import argparse
import json
import sys

from tests import PROGRAMS, ROOT
from tests.proofs.mutations import draw
from tests.proofs.mutations.draw import Mutation

DRAWN = PROGRAMS / "mutations" / "drawn_ladders.json"
COUNT = 120
OPERATORS = ("depthwise_conv2d", "gelu", "layer_norm", "lltm", "subm_conv3d")
LABS = ("01_python_function", "03_im2col_cpu")


def record(*, anew: bool = False) -> str:
    """What drawn_ladders.json holds, drawn from the files it names, or `anew` from all
    that there are.
    """
    files = draw.sources(LABS, OPERATORS)
    if not anew:
        named = json.loads(DRAWN.read_text())["eligible"]
        files = [file for file in files if str(file.relative_to(ROOT)) in named]
    return draw.record(files, COUNT, "l")


def committed() -> tuple[list[Mutation], dict[str, str]]:
    """The mutations, and the fingerprints of the files drawn from."""
    return draw.committed(DRAWN)


def main() -> int:
    """Write the list, or compare it with what would be drawn."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    check = parser.parse_args().check
    return draw.kept(DRAWN, record(anew=not check), check=check)


if __name__ == "__main__":
    sys.exit(main())
