# SPDX-License-Identifier: MIT
"""What a rung uses of its own ladder: what it leaves, lower rungs by name."""

from __future__ import annotations

import pytest

from grader import operators
from grader.checks.subject import DTYPES
from grader.checks.values.fallback import Servers
from tests import put
from tests.grader.toolchain.tiny_course import (
    BACKWARD,
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

LOWER, NEXT, TOP = (f"03_next/gelu/{name}" for name in ("00_x", "01_x", "02_top"))


@pytest.fixture
def ladder(course) -> Course:
    """Three rungs in lab 03; the highest leaves every case."""
    for number in (0, 1):
        course.file(f"03_next/gelu/0{number}_x.c", forward(30 + number))
    (course.root / "labs/03_next/gelu/00_call.c").unlink()
    course.file("03_next/gelu/02_top.c", forward(UNSUPPORTED))
    course.lab("03_next", '[rung."gelu/02_top"]', "below = true")
    return course


@pytest.mark.parametrize(
    ("line", "right", "server"),
    [
        pytest.param("true", [LOWER, NEXT], NEXT, id="nearest_of_two"),
        pytest.param("true", [LOWER], LOWER, id="the_one_that_is_right"),
        pytest.param("true", [], GIVEN, id="given_where_none_is_right"),
        pytest.param('"gelu/00_x"', [LOWER, NEXT], LOWER, id="by_name_comes_first"),
    ],
)
def test_the_nearest_right_rung_below_computes_what_is_left(
    ladder, line, right, server
):
    ladder.lab("03_next", '[rung."gelu/02_top"]', f"below = {line}")
    assert ladder.built(TOP, *right).uses == {"lower": server}


@pytest.mark.parametrize(
    ("right", "server"), [([LOWER, NEXT], NEXT), ([LOWER], LOWER), ([], GIVEN)]
)
def test_a_lower_rung_by_name_or_the_nearest_right_one_below_it(ladder, right, server):
    ladder.lab("03_next", '[rung."gelu/02_top"]', 'uses.tiles = "gelu/01_x"')
    ladder.file("03_next/gelu/02_top.c", forward("tiles"))
    links, top = ladder.links(*right), ladder.rung(TOP)
    assert links.build(top).uses == {"tiles": server}
    alone = links.build(top, without=["tiles"])
    assert answer(alone.libraries["f32"]) == 1  # STATUS_NOT_IMPLEMENTED


def test_a_rung_that_leaves_cases_is_never_blocked(ladder):
    put(ladder.root / "MANIFEST")
    built = ladder.built(TOP)
    assert (built.blocked, built.uses) == ("", {"lower": "nobody"})
    assert answer(built.libraries["f32"]) == 1  # STATUS_NOT_IMPLEMENTED


def test_without_lower_rungs_a_rung_says_what_it_leaves(ladder):
    links, top = ladder.links(NEXT), ladder.rung(TOP)
    usual, alone = links.build(top), links.build(top, without=["lower"])
    assert answer(usual.libraries["f32"]) == 31
    assert answer(alone.libraries["f32"]) == 1


def leaving(condition: str) -> str:
    """A gelu_forward that leaves cases under a condition, and answers 0 else."""
    value = f"{condition} ? STATUS_UNSUPPORTED : STATUS_OK"
    return HEAD + FORWARD.format(value=value)


def test_a_case_is_served_by_the_rung_or_by_a_lower_one(ladder, tools):
    """What comes back as STATUS_OK and was not computed counts as left, too."""
    (ladder.root / "build" / "tools").symlink_to(tools)
    ladder.file("03_next/gelu/02_top.c", leaving("tensor_numel(input) > 1"))
    links, top = ladder.links(NEXT), ladder.rung(TOP)
    gelu = operators.get("gelu")
    sizes = {
        min(2, gelu.inputs(case, DTYPES["f32"], 7)["input"].numel()): case
        for case in gelu.cases(7)
    }
    with Servers(links, gelu, 7) as servers:
        left = {n: servers.left(top, c, "forward") for n, c in sizes.items()}
        done = {n: servers.computes(top, c, "forward") for n, c in sizes.items()}
    assert left == {2: NEXT, 1: NEXT, 0: ""}
    assert done == {2: NEXT, 1: NEXT, 0: TOP}


def test_a_gradient_by_another_rungs_forward_is_that_rungs_work(ladder, tools):
    """Which has no backward to ask, and whose forward leaves cases."""
    (ladder.root / "build" / "tools").symlink_to(tools)
    ladder.file("03_next/gelu/01_x.c", leaving("tensor_numel(input) < 0"))
    call = "tiles_forward(ctx, grad_output, p, grad_input)"
    text = HEAD + "gelu_forward_fn tiles_forward;\n" + BACKWARD.format(value=call)
    ladder.file("03_next/gelu/02_top.c", text)
    uses = '[rung."gelu/01_x"]', "below = true", '[rung."gelu/02_top"]'
    ladder.lab("03_next", *uses, 'uses.tiles = "gelu/01_x"')
    gelu = operators.get("gelu")
    with Servers(ladder.links(LOWER, NEXT), gelu, 7) as servers:
        done = servers.computes(ladder.rung(TOP), gelu.cases(7)[0], "backward")
    assert done == NEXT


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
    ladder.lab("03_next", *near, '[rung."gelu/01_x"]', "below = true")
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
    assert f"calls '{name}_forward', which is defined nowhere" in built.error
