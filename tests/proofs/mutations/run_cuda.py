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
from dataclasses import dataclass

from grader.toolchain import cusim, make
from tests.proofs.mutations import frame, graded_once
from tests.proofs.mutations.draw import Mutation
from tests.proofs.mutations.draw_cuda import KINDS, committed, kind_of
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
class Outcome(graded_once.Outcome):
    """With the kind of the mutation."""

    kind: str

    @property
    def cells(self) -> list[str]:
        """With the kind of the mutation in front."""
        return [self.kind, *super().cells]


def grade(mutation: Mutation, seed: int) -> Outcome:
    """Build and check one mutation."""
    kind = kind_of(mutation) if mutation.old else "as is"
    return Outcome(**vars(graded_once.grade(mutation, seed)), kind=kind)


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
    graded_once.ready,
    PAGE,
    ("kind", "verdict", "check"),
    by_kind,
)

if __name__ == "__main__":
    sys.exit(PROOF.main(sys.argv[1:]))
