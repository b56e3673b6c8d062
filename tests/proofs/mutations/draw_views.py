# SPDX-License-Identifier: MIT
"""Draws 60 mutations of the views of lab 02, by the rules of draw.py.

`drawn_views.json` is committed before the first run; who changes a view draws again:

    python -m tests.proofs.mutations.draw_views [--check]
"""

from __future__ import annotations

import sys

from signatures.view_names import TENSOR_VIEW

from tests import PROGRAMS
from tests.proofs.mutations import draw
from tests.proofs.mutations.draw import Mutation

DRAWN = PROGRAMS / "mutations" / "drawn_views.json"
COUNT = 60


def record() -> str:
    """What drawn_views.json holds."""
    return draw.record(draw.sources(("02_naive_c",), (TENSOR_VIEW,)), COUNT, "v")


def committed() -> tuple[list[Mutation], dict[str, str]]:
    """The mutations, and the fingerprints of the files drawn from."""
    return draw.committed(DRAWN)


if __name__ == "__main__":
    sys.exit(draw.kept(DRAWN, record(), check="--check" in sys.argv))
