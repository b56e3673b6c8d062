# SPDX-License-Identifier: MIT
"""Does the grader see one changed token? A sample of what `make stress` does whole.

tests/proofs/mutations holds the parts: the drawn list, the run over it, and the proof
that what survives computes the same as the reference.
"""

from __future__ import annotations

import hashlib

import pytest

from tests import ROOT
from tests.proofs.mutations import equivalent
from tests.proofs.mutations.draw import DRAWN, Mutation, committed, record
from tests.proofs.mutations.frame import controls, new_seed, sample
from tests.proofs.mutations.run import PROOF, grade

ALL, HASHES = committed()
IN_C = [mutation for mutation in ALL if mutation.file.endswith(".c")]
IN_PYTHON = [mutation for mutation in ALL if mutation.file.endswith(".py")]
SEED = 5  # whose ten are without an endless loop: each of those takes its deadline
SAMPLE = sample(IN_C, 8, seed=SEED) + sample(IN_PYTHON, 2, seed=SEED)
EQUIVALENT = PROOF.argued()
SHARE = 0.05  # of the drawn may survive
FEWER_CASES = 200


def test_the_list_is_what_the_draw_gives() -> None:
    changed = [
        file
        for file, expected in HASHES.items()
        if hashlib.sha256((ROOT / file).read_bytes()).hexdigest() != expected
    ]
    assert not changed, (
        f"changed since the draw: {', '.join(changed)}; draw and run again: "
        "python -m tests.proofs.mutations.draw; commit; "
        "python -m tests.proofs.mutations.run --write"
    )
    assert DRAWN.read_text() == record(), (
        "draw again: python -m tests.proofs.mutations.draw"
    )


def test_at_least_100_are_drawn() -> None:
    assert len(ALL) >= 100


def test_at_most_5_percent_are_equivalent() -> None:
    assert len(EQUIVALENT) <= SHARE * len(ALL)


def test_every_survivor_of_the_last_run_is_equivalent() -> None:
    last = PROOF.read()
    assert [outcome.mutation for outcome in last] == ALL
    assert {o.mutation.id for o in last if not o.caught} == set(EQUIVALENT)


@pytest.mark.parametrize(
    "mutation", controls([IN_C[0], IN_PYTHON[0]]), ids=lambda m: m.file
)
@pytest.mark.usefixtures("tools")
def test_nothing_changed_passes(mutation: Mutation) -> None:
    outcome = grade(mutation, new_seed())
    assert not outcome.caught, outcome


@pytest.mark.parametrize("mutation", SAMPLE, ids=lambda m: m.id)
@pytest.mark.usefixtures("tools")
def test_a_changed_token_is_caught(mutation: Mutation) -> None:
    outcome = grade(mutation, new_seed())
    assert outcome.caught or mutation.id in EQUIVALENT, outcome


@pytest.mark.parametrize("name", EQUIVALENT)
def test_a_survivor_computes_the_same(name: str) -> None:
    agrees, words = equivalent.ask(name, cases=FEWER_CASES, seed=new_seed())
    assert agrees, words
