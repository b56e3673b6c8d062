# SPDX-License-Identifier: MIT
"""Walks: lower rungs are asked for what a rung leaves; and lower rungs by name."""

from __future__ import annotations

import pytest

from grader.toolchain.linking import OWN_FILES, WITH_GIVEN
from tests.grader.toolchain.tiny_course import (
    FORWARD,
    GIVEN,
    HEAD,
    UNSUPPORTED,
    Course,
    answer,
    course,
    forward,
)

__all__ = ["course"]  # the fixture

COVERS = 'covers = ["packed"]'
LOWER, NEXT, TOP = (f"03_next/gelu/{name}" for name in ("00_x", "01_x", "02_top"))


@pytest.fixture
def ladder(course) -> Course:
    """Three rungs in lab 03; the highest leaves every case."""
    for number in (0, 1):
        course.file(f"03_next/gelu/0{number}_x.c", forward(30 + number))
    (course.root / "labs/03_next/gelu/00_call.c").unlink()
    course.file("03_next/gelu/02_top.c", forward(UNSUPPORTED))
    course.lab("03_next", '[rung."gelu/02_top"]', COVERS)
    return course


@pytest.mark.parametrize(
    ("line", "right", "server"),
    [
        pytest.param("", [LOWER, NEXT], NEXT, id="nearest_of_two"),
        pytest.param("", [LOWER], LOWER, id="the_one_that_is_right"),
        pytest.param("", [], GIVEN, id="given_where_none_is_right"),
        pytest.param(
            'below = "gelu/00_x"', [LOWER, NEXT], LOWER, id="by_name_comes_first"
        ),
    ],
)
def test_the_nearest_right_rung_below_computes_what_is_left(
    ladder, line, right, server
):
    ladder.lab("03_next", '[rung."gelu/02_top"]', COVERS, line)
    links, top = ladder.links(*right), ladder.rung(TOP)
    assert links.build(top, walk=WITH_GIVEN).uses == {"lower": server}
    mine = {} if server == GIVEN else {"lower": server}
    assert links.build(top, walk=OWN_FILES).uses == mine


def test_alone_a_rung_says_what_it_leaves(ladder):
    links, top = ladder.links(NEXT), ladder.rung(TOP)
    walk, alone = links.build(top, walk=OWN_FILES), links.build(top)
    assert answer(walk.libraries["f32"]) == 31
    assert (alone.uses, answer(alone.libraries["f32"])) == ({}, UNSUPPORTED)


@pytest.mark.parametrize(
    ("right", "server"), [([LOWER, NEXT], NEXT), ([LOWER], LOWER), ([], GIVEN)]
)
def test_a_lower_rung_by_name_or_the_nearest_right_one_below_it(ladder, right, server):
    ladder.lab("03_next", '[rung."gelu/02_top"]', 'uses.tiles = "gelu/01_x"')
    ladder.file("03_next/gelu/02_top.c", forward("tiles"))
    links, top = ladder.links(*right), ladder.rung(TOP)
    assert links.build(top).uses == {"tiles": server}


# ---- each object once --------------------------------------------------------------


def test_an_object_that_two_rungs_call_is_linked_once(ladder):
    """It counts its calls, and there is one counter."""
    counting = HEAD + "static int calls;\n" + FORWARD.format(value="(status_t)++calls")
    ladder.file("03_next/gelu/00_x.c", counting)
    ladder.file("03_next/gelu/01_x.c", forward(UNSUPPORTED))
    twice = "near_forward(ctx, input, p, output) + far_forward(ctx, input, p, output)"
    both = "gelu_forward_fn near_forward, far_forward;\n"
    ladder.file("03_next/gelu/02_top.c", HEAD + both + FORWARD.format(value=twice))
    near = '[rung."gelu/02_top"]', 'uses.near = "gelu/01_x"', 'uses.far = "gelu/00_x"'
    ladder.lab("03_next", *near, '[rung."gelu/01_x"]', COVERS)
    built = ladder.built(TOP, LOWER, NEXT)
    assert built.uses == {"near": NEXT, "far": LOWER}, built
    assert answer(built.libraries["f32"]) == 1 + 2


def test_two_names_may_be_of_one_function(ladder):
    both = "gelu_forward_fn near_forward, far_forward;\n"
    text = both + FORWARD.format(
        value="input ? far_forward(ctx, input, p, output)"
        " : near_forward(ctx, input, p, output)"
    )
    ladder.file("03_next/gelu/02_top.c", HEAD + text)
    uses = 'uses.near = "gelu/01_x"', 'uses.far = "gelu/01_x"'
    ladder.lab("03_next", '[rung."gelu/02_top"]', *uses)
    built = ladder.built(TOP, NEXT)
    assert (built.uses, answer(built.libraries["f32"])) == (
        {"near": NEXT, "far": NEXT},
        31,
    )


@pytest.mark.parametrize("name", ["convlab_part0", "lower", "fallback"])
def test_a_rung_calls_no_object_that_it_does_not_use(ladder, name):
    """Neither by its name in the library nor by a walk's name of the rungs below."""
    ladder.file("03_next/gelu/02_top.c", forward(name))
    built = ladder.built(TOP, NEXT)
    assert f"calls '{name}_forward', which no file defines" in built.error
