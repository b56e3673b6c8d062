# SPDX-License-Identifier: MIT
"""Grades every drawn mutation of five more operators in labs 01 and 03: who survives?

    python -m tests.proofs.mutations.run_ladders   (frame.py has the options)

Each is graded as `make grade` grades that rung alone, up to the first verdict that is
not PASS (graded_once.py). Survivors are argued in equivalent_ladders.toml.
"""

from __future__ import annotations

import sys

from grader.toolchain import make
from tests.proofs.mutations import frame
from tests.proofs.mutations.draw_ladders import committed
from tests.proofs.mutations.graded_once import Outcome, grade, ready

PAGE = """# One token of five more operators changed: what the grader lets pass

Written by `python -m tests.proofs.stress mutations --lab 03`. The list
was drawn by `draw_ladders.py` beside it, over labs 01 and 03, and
committed before the first run. A mutation is graded up to its first
verdict that is not PASS. Survivors are argued one by one in
`programs/mutations/equivalent_ladders.toml`: *equivalent*, or a *hole*.

{summary}.
{kinds}"""


PROOF = frame.Proof(
    "_ladders",
    Outcome,
    committed,
    grade,
    make.build_tools,
    ready,
    PAGE,
    ("verdict", "check"),
)

if __name__ == "__main__":
    sys.exit(PROOF.main(sys.argv[1:]))
