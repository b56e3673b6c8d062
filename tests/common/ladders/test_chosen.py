# SPDX-License-Identifier: MIT
"""The rungs of lab 05 where the grader does not choose: the highest written ones."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ladders import Refusal
from ladders.chosen import Chosen, targets
from ladders.linked_parts import Part
from signatures import DIRECTIONS

from grader.course.rungs import ROOT
from grader.solution_marks import starter
from grader.toolchain.extension import kernels
from grader.toolchain.linking import WITH_GIVEN, Links
from tests import put

LAB = ROOT / "labs" / "05_torch_extension"
RUNG = """#include "operators.h"
status_t gelu_{direction}(ctx_t *ctx)
{{
    // BEGIN SOLUTION
    return {body};
    // END SOLUTION
    // STARTER return STATUS_NOT_IMPLEMENTED;
}}
"""


def chosen(root: Path = ROOT, *without: str) -> Chosen:
    return Chosen(root, lambda rung: rung.id, lambda *_: "walk", without)


class AllRight(Links):
    """What the grader links if every rung is right."""

    def passed(self, rung, direction) -> bool:
        return True


@pytest.mark.parametrize("operator", targets(LAB))
def test_the_choice_is_the_grader_s_if_all_rungs_are_right(operator: str):
    mine = chosen()
    for name in ("cpu", "direct", "cuda"):
        if not (target := kernels.target_of(operator, name)):
            continue
        for direction in DIRECTIONS:
            head = rf"^[^*\n]*\b{operator}_{direction}\("
            defining = [
                rung.id
                for rung in kernels._candidates(target)
                if re.search(head, rung.file.read_text(), re.MULTILINE)
            ]
            assert mine.function(target, direction)[0].id == defining[0]


def tree(part: Part) -> tuple[str, dict[str, Any]]:
    """Whom an object calls, and whom these call."""
    return part.name, {symbol: tree(other) for symbol, other in part.calls.items()}


def test_what_a_rung_uses_is_linked_with_it_as_the_grader_links_it(tools):
    """add has a walk, and the rungs of lltm use others."""
    mine = chosen()
    links = AllRight()
    for operator in ("add", "lltm"):
        target = kernels.target_of(operator, "cpu")
        for direction in DIRECTIONS:
            rung, part = mine.function(target, direction)
            (same,) = [r for r in kernels._candidates(target) if r.id == rung.id]
            theirs = links._served_by(same, "release", WITH_GIVEN)[direction]
            assert tree(part) == tree(theirs)
            assert part.calls


def test_what_a_header_of_a_ladder_calls_is_linked():
    _, part = chosen().function("03_im2col_cpu/conv2d/17_dispatch", "forward")
    assert part.calls["channels_forward"].operator == "depthwise_conv2d"


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A repository with two rungs of gelu, as students get them."""
    toml = '[rung."gelu/01_upper"]\ncovers = ["large"]\n'
    put(tmp_path / "labs" / "03_c" / "lab.toml", toml)
    for name in ("00_lower", "01_upper"):
        text = "".join(RUNG.format(direction=d, body="STATUS_OK") for d in DIRECTIONS)
        put(tmp_path / "labs" / "03_c" / "gelu" / f"{name}.c", starter(text))
    return tmp_path


def write(course: Path, name: str, *directions: str) -> None:
    file = course / "labs" / "03_c" / "gelu" / f"{name}.c"
    parts = {d: RUNG.format(direction=d, body="STATUS_OK") for d in DIRECTIONS}
    file.write_text(
        "".join(p if d in directions else starter(p) for d, p in parts.items())
    )


def test_of_a_handout_it_says_that_nothing_is_written(course: Path):
    with pytest.raises(Refusal, match=r"no file of 03_c/gelu that computes forward is"):
        chosen(course).function("03_c/gelu", "forward")


def test_a_starter_serves_no_direction_that_it_lacks(course: Path):
    write(course, "00_lower", "forward", "backward")
    write(course, "01_upper", "backward")
    mine = chosen(course)
    assert mine.function("03_c/gelu", "forward")[0].id == "03_c/gelu/00_lower"
    rung, part = mine.function("03_c/gelu", "backward")
    assert (rung.id, part.file) == ("03_c/gelu/01_upper", "walk")
    assert {s: p.name for s, p in part.calls.items()} == {
        "own_backward": "03_c/gelu/01_upper",
        "lower_backward": "03_c/gelu/00_lower",
    }


def test_a_lower_rung_stands_for_one_that_does_not_compile(course: Path):
    write(course, "00_lower", "forward")
    write(course, "01_upper", "forward")
    mine = chosen(course, "03_c/gelu/01_upper")
    assert mine.function("03_c/gelu", "forward")[0].id == "03_c/gelu/00_lower"
    both = chosen(course, "03_c/gelu/00_lower", "03_c/gelu/01_upper")
    with pytest.raises(Refusal, match=r"computes forward compiles yet"):
        both.function("03_c/gelu", "forward")


def test_a_direction_that_no_file_has_is_named():
    with pytest.raises(Refusal, match="no file of 03_im2col_cpu/none defines forward"):
        chosen().function("03_im2col_cpu/none", "forward")
