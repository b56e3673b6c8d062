# SPDX-License-Identifier: MIT
"""Grades every drawn mutation of a CUDA rung with the whole grader: who survives?

    python -m tests.proofs.mutations.run_cuda   (frame.py has the options)

Each is graded as `make grade` grades that rung alone, without speed and nvcc, up to the
first verdict that is not PASS; values of both directions come first, and reasons are
not looked for. What a verdict of the grader's own fault or a pending one lets through
has survived. Survivors are argued in equivalent_cuda.toml.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

from grader.toolchain import cusim, make
from grader.verdicts import Verdict
from tests.proofs.mutations import frame
from tests.proofs.mutations.draw import Mutation
from tests.proofs.mutations.draw_cuda import KINDS, committed, kind_of
from tests.proofs.mutations.graded_once import graded_once, ready
from tests.proofs.pages import table

PAGE = """# One token of a CUDA rung changed: what the grader lets pass

Written by `python -m tests.proofs.stress mutations --lab 04`. The list
was drawn by `draw_cuda.py` beside it, over all rungs that cusim runs,
and committed before the first run. A mutation is graded without a GPU,
up to its first verdict that is not PASS. Survivors are argued one by one
in `programs/mutations/equivalent_cuda.toml`: *equivalent*, or a *hole*.

{summary}.

{kinds}
"""


@dataclass(frozen=True)
class Outcome(frame.Outcome):
    """With the first verdict that is not PASS."""

    kind: str
    verdict: str
    where: str  # the check that gave it

    @property
    def verdicts(self) -> tuple[str, ...]:
        """The only one."""
        return (self.verdict,)

    @property
    def cells(self) -> list[str]:
        """With the kind of the mutation and the check that saw it."""
        return [self.kind, self.verdict, self.where]


# ---- grading one ---------------------------------------------------------------------


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
        kind_of(mutation) if mutation.old else "as is",
        str(found.verdict if found else Verdict.PASS),
        f"{found.direction} {found.name}" if found else "",
    )


# ---- all of them ---------------------------------------------------------------------


def prepare() -> None:
    """Build what all share."""
    make.build_tools()
    cusim.build_tools()


def by_kind(outcomes: list[Outcome]) -> list[str]:
    """A row for each kind of mutation."""
    rows = []
    for kind in KINDS:
        of = [o for o in outcomes if o.kind == kind]
        rows.append([kind, len(of), sum(o.caught for o in of), frame.verdicts_of(of)])
    return table(["kind", "drawn", "caught", "verdicts"], rows)


PROOF = frame.Proof(
    "_cuda",
    Outcome,
    committed,
    grade,
    prepare,
    ready,
    PAGE,
    ("kind", "verdict", "check"),
    by_kind,
)

if __name__ == "__main__":
    sys.exit(PROOF.main(sys.argv[1:]))
