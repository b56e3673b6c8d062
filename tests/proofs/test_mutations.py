# SPDX-License-Identifier: MIT
"""Does the grader see one changed token? A sample of what `make stress` does whole.

tests/proofs/mutations holds the parts: the drawn list, the run over it, and the proof
that what survives computes the same as the reference.
"""

from __future__ import annotations

import pytest

from tests.proofs.mutations import equivalent
from tests.proofs.mutations.draw import Mutation, committed
from tests.proofs.mutations.frame import controls, new_seed, sample
from tests.proofs.mutations.run import PROOF, grade

ALL, HASHES = committed()
IN_C = [mutation for mutation in ALL if mutation.file.endswith(".c")]
IN_PYTHON = [mutation for mutation in ALL if mutation.file.endswith(".py")]
SEED = 5  # whose ten are without an endless loop: each of those takes its deadline
SAMPLE = sample(IN_C, 8, seed=SEED) + sample(IN_PYTHON, 2, seed=SEED)
ARGUED = PROOF.argued()
EQUIVALENT = [name for name, (fate, _) in ARGUED.items() if fate == "equivalent"]
SHARE = 0.05  # of the drawn may survive
FEWER_CASES = 200


def test_at_least_100_are_drawn_and_at_most_5_percent_survive() -> None:
    assert len(ALL) >= 100
    assert len(ARGUED) <= SHARE * len(ALL)


@pytest.mark.parametrize(
    "mutation",
    [*controls([IN_C[0], IN_PYTHON[0]]), *SAMPLE],
    ids=lambda m: m.id if m.old else m.file,
)
@pytest.mark.usefixtures("tools")
def test_a_changed_token_is_caught_and_nothing_changed_passes(
    mutation: Mutation,
) -> None:
    outcome = grade(mutation, new_seed())
    expected = bool(mutation.old and mutation.id not in ARGUED)
    assert outcome.caught is expected, outcome


@pytest.mark.parametrize("name", EQUIVALENT)
def test_a_survivor_computes_the_same(name: str) -> None:
    agrees, words = equivalent.ask(name, cases=FEWER_CASES, seed=new_seed())
    assert agrees, words
