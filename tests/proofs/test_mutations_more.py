# SPDX-License-Identifier: MIT
"""Does the grader see 60 more drawn mutations, and 60 mistakes written by hand?

`python -m tests.proofs.stress mutations --lab more` grades them.
"""

from __future__ import annotations

import pytest

from tests.proofs.mutations import draw, draw_all, draw_cuda, draw_ladders, draw_more
from tests.proofs.mutations.run_more import PROOF

ALL, _ = draw_more.committed()
WRITTEN = draw_more.written()
OTHERS = (draw.DRAWN, draw_all.DRAWN, draw_cuda.DRAWN, draw_ladders.DRAWN)


def test_60_are_drawn_and_60_written_and_no_other_list_has_one():
    assert len(ALL) == len({m.id for m in ALL}) == 120
    assert len(WRITTEN) == 60 and set(WRITTEN) < {m.id for m in ALL}
    drawn = {(m.file, m.line, m.column) for m in ALL if m.id not in WRITTEN}
    places = {(m.file, m.line, m.column) for f in OTHERS for m in draw.committed(f)[0]}
    assert len(drawn) == 60 and not drawn & places


def test_a_written_mistake_stands_once_in_its_file_and_says_what_it_is():
    assert all(m.old != m.new for m in draw_more.by_hand())
    assert len(set(WRITTEN.values())) >= 50, "few ideas, in many files"
    assert not [name for name, what in WRITTEN.items() if len(what.split()) > 20]


@pytest.mark.usefixtures("tools")
def test_what_is_wrong_by_hand_is_seen():
    quick = [o for o in PROOF.read() if o.caught and o.what and o.seconds]
    soonest = min(quick, key=lambda outcome: outcome.seconds)
    outcome = PROOF.grade(soonest.mutation, soonest.seed)
    assert outcome.caught, outcome
