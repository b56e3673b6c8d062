# SPDX-License-Identifier: MIT
"""Does the grader see one changed token in the ladders of five more operators? A sample
of the drawn ones.

`python -m tests.proofs.stress mutations --lab 03` grades all of them.
"""

from __future__ import annotations

import pytest

from grader.engine.grade import new_seed
from tests.proofs.mutations.draw import Mutation, changed
from tests.proofs.mutations.draw_ladders import DRAWN, committed, record
from tests.proofs.mutations.graded_once import grade
from tests.proofs.mutations.run_ladders import PROOF

ALL, HASHES = committed()
LAST = PROOF.read()
FOLDERS = sorted({"/".join(m.file.split("/")[1:3]) for m in ALL})
SAMPLE = [  # of every third ladder the one that was found soonest
    min(
        (o for o in LAST if o.caught and folder in o.mutation.file),
        key=lambda o: o.seconds,
    ).mutation
    for folder in FOLDERS[::3]
]


def test_the_list_is_what_the_draw_gives() -> None:
    assert not changed(HASHES), (
        "changed since the draw; draw and run again: "
        "python -m tests.proofs.mutations.draw_ladders; commit; "
        "python -m tests.proofs.stress mutations --lab 03"
    )
    assert DRAWN.read_text() == record()


def test_120_are_drawn_and_every_survivor_of_the_last_run_is_argued() -> None:
    assert len(ALL) == 120 and len(FOLDERS) == 10
    assert [outcome.mutation for outcome in LAST] == ALL
    assert {o.mutation.id for o in LAST if not o.caught} == set(PROOF.argued())


@pytest.mark.parametrize("mutation", SAMPLE, ids=lambda m: m.id)
@pytest.mark.usefixtures("tools")
def test_a_changed_token_is_seen(
    mutation: Mutation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NVCC", "none")
    outcome = grade(mutation, new_seed())
    assert outcome.caught, outcome
