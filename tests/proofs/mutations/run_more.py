# SPDX-License-Identifier: MIT
"""Grades 60 more drawn mutations and 60 wrong files written by hand: who survives?

    python -m tests.proofs.mutations.run_more   (frame.py has the options)

Each is graded as `make grade` grades that rung alone, without speed and nvcc, up to the
first verdict that is not PASS (graded_once.py). Survivors are argued in
equivalent_more.toml.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from tests.proofs.mutations import draw_more, frame, graded_once, run_cuda
from tests.proofs.mutations.draw import Mutation
from tests.proofs.mutations.graded_once import ready
from tests.proofs.pages import table

PAGE = """# 120 more wrong files: what the grader lets pass

Written by `python -m tests.proofs.stress mutations --lab more`. 60 were
drawn by `draw_more.py` beside it, seed 20261127, over every rung of labs
01 to 04; 60 were written by hand (`programs/mutations/written.toml`):
mistakes of which cases may not see each. Both lists were committed
before the run. A file is graded without a GPU, up to its first verdict
that is not PASS. Survivors are argued one by one in
`programs/mutations/equivalent_more.toml`: *equivalent*, or a *hole*.

{summary}.

{kinds}
"""


@dataclass(frozen=True)
class Outcome(graded_once.Outcome):
    """With what is wrong, of one that was written by hand."""

    what: str

    @property
    def cells(self) -> list[str]:
        """With what is wrong in front."""
        return [self.what, *super().cells]


def grade(mutation: Mutation, seed: int) -> Outcome:
    """Build and check one of them."""
    what = draw_more.written().get(mutation.id, "")
    return Outcome(**vars(graded_once.grade(mutation, seed)), what=what)


def by_lab(outcomes: list[Outcome]) -> list[str]:
    """A row for each lab, of both lists."""
    rows = []
    for name, hand in (("drawn", False), ("written", True)):
        for lab in sorted({o.mutation.file.split("/")[1] for o in outcomes}):
            of = [
                o for o in outcomes if lab in o.mutation.file and bool(o.what) == hand
            ]
            caught = sum(o.caught for o in of)
            rows.append([name, lab, len(of), caught, frame.verdicts_of(of)])
    return table(["list", "lab", "files", "caught", "verdicts"], rows, words=2)


PROOF = frame.Proof(
    "_more",
    Outcome,
    draw_more.committed,
    grade,
    run_cuda.prepare,
    ready,
    PAGE,
    ("what is wrong", "verdict", "check"),
    by_lab,
)

if __name__ == "__main__":
    sys.exit(PROOF.main(sys.argv[1:]))
