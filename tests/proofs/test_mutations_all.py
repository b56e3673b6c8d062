# SPDX-License-Identifier: MIT
"""Does the grader see one changed token of any rung? The 200 drawn over labs 01 to 04.

`python -m tests.proofs.stress mutations --lab all` grades them; samples of the other
lists show in `make test` that grading works.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests import put
from tests.proofs.mutations import frame
from tests.proofs.mutations.draw import Mutation
from tests.proofs.mutations.draw_all import committed
from tests.proofs.mutations.run_all import PROOF

ALL, HASHES = committed()
LAST = PROOF.read()
SHARE = 0.01  # of the drawn may survive without proof that they compute the same


def test_200_are_drawn_and_every_rung_has_one() -> None:
    assert len(ALL) == len(set(ALL)) == 200
    assert {m.file for m in ALL} == set(HASHES)


def test_at_most_1_percent_survive_without_proof() -> None:
    holes = [name for name, (fate, _) in PROOF.argued().items() if fate == "hole"]
    assert len(holes) <= SHARE * len(ALL), holes


def test_a_run_that_was_stopped_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def graded(_: object, mutations: list[Mutation], jobs: int) -> Iterator[object]:
        for mutation in mutations:
            asked.append(mutation.id)
            yield replace(LAST[0], mutation=mutation)

    put(tmp_path / "equivalent_all.toml")
    put(tmp_path / "docs" / "results" / "mutations_all.md")
    monkeypatch.setattr(frame, "FOLDER", tmp_path)
    monkeypatch.setattr(frame, "ROOT", tmp_path)
    monkeypatch.setattr(frame.Proof, "graded", graded)
    first, second, third = ALL[:3]
    proof = replace(PROOF, committed=lambda: (ALL[:3], HASHES), prepare=lambda: None)
    changed_since = replace(second, new="something else")
    renumbered = replace(LAST[0], mutation=replace(first, id="another number"))
    proof.keep([renumbered, replace(LAST[0], mutation=changed_since)])
    proof.main(["--write", "--resume"])
    assert asked == [second.id, third.id]
    proof.main(["--write", "--resume", "--only", first.id])
    assert asked[2:] == [first.id]
    assert [outcome.mutation for outcome in proof.read()] == [first, second, third]
