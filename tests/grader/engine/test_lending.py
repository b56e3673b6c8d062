# SPDX-License-Identifier: MIT
"""A rung that defines one direction only: who lends the other, and when nobody does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.grader.engine.test_grade import Tree, copy_of_the_repository

SUBM = "02_naive_c/subm_conv3d"
WRONG = "if (tensor_numel(output)) real_data(output)[0] += 1;\n    return STATUS_OK;"


@pytest.fixture
def ladder(tools: Path, tmp_path: Path) -> Tree:
    """subm_conv3d: 00 has the forward, 01 the backward, which needs what it saves."""
    return copy_of_the_repository(tmp_path, tools, SUBM)


def spoil_forward(ladder: Tree) -> None:
    """Make the only forward wrong in one element."""
    file = ladder.root / "labs" / SUBM / "00_rulebook.c"
    file.write_text(file.read_text().replace("return STATUS_OK;", WRONG, 1))


def test_a_rung_that_was_not_asked_for_lends_what_it_does_right(ladder: Tree) -> None:
    assert ladder.run("grade", f"{SUBM}/01").returncode == 0
    (rung,) = ladder.task(SUBM)["rungs"]
    assert rung["uses"] == {"forward": f"{SUBM}/00_rulebook"}
    assert ladder.verdicts(rung["id"]) == {"backward": "PASS"}


@pytest.mark.parametrize("asked", [SUBM, f"{SUBM}/01"])
def test_a_wrong_forward_is_not_lent_and_backward_is_blocked(
    ladder: Tree, asked: str
) -> None:
    spoil_forward(ladder)
    ladder.run("grade", asked)
    assert ladder.verdicts(f"{SUBM}/01_rulebook_backward") == {"backward": "BLOCKED"}
    task = ladder.task(SUBM)
    assert (task["points"], task["pending"]) == (0, 3)
