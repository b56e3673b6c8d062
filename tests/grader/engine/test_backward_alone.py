# SPDX-License-Identifier: MIT
"""A rung that defines backward only: what forward saves comes from the reference."""

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


@pytest.mark.parametrize("asked", [SUBM, f"{SUBM}/01"])
def test_a_backward_is_right_whatever_the_forward_beside_it_is(
    ladder: Tree, asked: str
) -> None:
    spoil_forward(ladder)
    ladder.run("grade", asked)
    assert ladder.verdicts(f"{SUBM}/01_rulebook_backward") == {"backward": "PASS"}
    (*_, rung) = ladder.task(SUBM)["rungs"]
    assert rung["uses"] == {}
