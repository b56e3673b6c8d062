# SPDX-License-Identifier: MIT
"""Grades the 60 drawn mutations of the views of lab 02: who survives?

    python -m tests.proofs.mutations.run_views   (frame.py has the options)

Each is asked what `make grade` asks of its function. Survivors are argued in
equivalent_views.toml.
"""

from __future__ import annotations

import sys
import time

from signatures.view_names import VIEWS

from grader.checks.views import random_views, view_answers
from grader.runner.supervisor.cores import pin
from grader.toolchain import make
from grader.verdicts import Verdict
from tests.proofs.mutations import draw_views, frame
from tests.proofs.mutations.draw import Mutation
from tests.proofs.mutations.graded_once import Outcome
from tests.proofs.mutations.run import build, ready

PAGE = """# One token of a view changed: what the grader lets pass

Written by `python -m tests.proofs.stress mutations --lab views`. The list of 60 was
drawn by `draw_views.py` beside it, over `labs/02_naive_c/tensor_view`, and committed
before the first run. Survivors are argued one by one in
`programs/mutations/equivalent_views.toml`: *equivalent*, or a *hole*.

{summary}.
{kinds}"""


def grade(mutation: Mutation, seed: int) -> Outcome:
    """Build one mutation and ask its function everything."""
    start = time.perf_counter()
    pin()
    function = next(name for name in VIEWS if f"_{name}.c" in mutation.file)
    with frame.mutated(mutation) as copy:
        built = build(copy, mutation.file)
        if isinstance(built, str):
            verdict, message = Verdict.BUILD, built
        else:
            questions = random_views.questions(function, seed)
            found = view_answers.check(built["f32"], function, questions)
            verdict, message = found.verdict, found.message
    seconds = round(time.perf_counter() - start, 1)
    return Outcome(mutation, seed, message, seconds, str(verdict), function)


PROOF = frame.Proof(
    "_views",
    Outcome,
    draw_views.committed,
    grade,
    make.build_tools,
    ready,
    PAGE,
    ("verdict", "function"),
)

if __name__ == "__main__":
    sys.exit(PROOF.main(sys.argv[1:]))
