# SPDX-License-Identifier: MIT
"""Grades every drawn mutation of five more operators in labs 01 and 03: who survives?

    python -m tests.proofs.mutations.run_ladders   (frame.py has the options)

Each is graded as `make grade` grades that rung alone, up to the first verdict that is
not PASS (graded_once.py). Survivors are argued in equivalent_ladders.toml.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

from grader.toolchain import make
from grader.verdicts import Verdict
from tests.proofs.mutations import frame
from tests.proofs.mutations.draw import Mutation
from tests.proofs.mutations.draw_ladders import committed
from tests.proofs.mutations.graded_once import graded_once, ready

PAGE = """# One token of five more operators changed: what the grader lets pass

Written by `python -m tests.proofs.stress mutations --lab 03`. The list
was drawn by `draw_ladders.py` beside it, over labs 01 and 03, and
committed before the first run. A mutation is graded up to its first
verdict that is not PASS. Survivors are argued one by one in
`programs/mutations/equivalent_ladders.toml`: *equivalent*, or a *hole*.

{summary}.
{kinds}"""


@dataclass(frozen=True)
class Outcome(frame.Outcome):
    """With the first verdict that is not PASS."""

    verdict: str
    where: str  # the check that gave it

    @property
    def verdicts(self) -> tuple[str, ...]:
        """The only one."""
        return (self.verdict,)

    @property
    def cells(self) -> list[str]:
        """With the check that saw it."""
        return [self.verdict, self.where]


def grade(mutation: Mutation, seed: int) -> Outcome:
    """Build and check one mutation."""
    start = time.perf_counter()
    with frame.mutated(mutation) as copy:
        result = graded_once(mutation, copy, seed)
    found = next((c for c in result.checks if c.verdict is not Verdict.PASS), None)
    return Outcome(
        mutation,
        seed,
        found.message if found else "",
        round(time.perf_counter() - start, 1),
        str(found.verdict if found else Verdict.PASS),
        f"{found.direction} {found.name}" if found else "",
    )


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
