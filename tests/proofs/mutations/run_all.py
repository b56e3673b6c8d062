# SPDX-License-Identifier: MIT
"""Grades the 200 mutations over every rung of labs 01 to 04: who survives?

    python -m tests.proofs.mutations.run_all   (frame.py has the options)

Each is graded as `make grade` grades that rung alone, without speed and nvcc, up to the
first verdict that is not PASS (graded_once.py). Survivors are argued in
equivalent_all.toml.
"""

from __future__ import annotations

import sys

from tests.proofs.mutations import draw_all, frame, run_cuda
from tests.proofs.mutations.graded_once import Outcome, grade, ready
from tests.proofs.pages import table

PAGE = """# One token of any rung changed: what the grader lets pass

Written by `python -m tests.proofs.stress mutations --lab all`. The list
of 200 was drawn by `draw_all.py` beside it, seed 20261125, over every
rung of labs 01 to 04, and committed before the run. A mutation is
graded without a GPU, up to its first verdict that is not PASS.
Survivors are argued one by one in
`programs/mutations/equivalent_all.toml`: *equivalent*, or a *hole*.

In the first run 15 survived. Three of them were holes, which are closed:
s09 (no case of `conv2d` had a kernel of more than 15 rows or columns),
s18 and s34 (the memory check of lab 04 passed over reports of UBSan).

{summary}.

{kinds}
"""


def by_lab(outcomes: list[Outcome]) -> list[str]:
    """A row for each lab."""
    rows = []
    for lab in sorted({o.mutation.file.split("/")[1] for o in outcomes}):
        of = [o for o in outcomes if lab in o.mutation.file]
        rows.append([lab, len(of), sum(o.caught for o in of), frame.verdicts_of(of)])
    return table(["lab", "drawn", "caught", "verdicts"], rows)


PROOF = frame.Proof(
    "_all",
    Outcome,
    draw_all.committed,
    grade,
    run_cuda.prepare,
    ready,
    PAGE,
    ("verdict", "check"),
    by_lab,
)

if __name__ == "__main__":
    sys.exit(PROOF.main(sys.argv[1:]))
