# SPDX-License-Identifier: MIT
"""What a rung uses of others: what lab.toml may say, and what is linked in the end.

test_lower_rungs.py asks the same within one ladder, test_uses_graded.py grades true
operators.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.course.candidates import ordered
from grader.course.tasks import all_tasks
from grader.errors import GraderError
from grader.toolchain import given
from grader.verdicts import Verdict
from tests import put
from tests.grader.toolchain.tiny_course import (
    BACKWARD,
    CALLER,
    FORWARD,
    GIVEN,
    HEAD,
    SOLUTION,
    STUDENT,
    answer,
    course,
    exported,
    forward,
)

__all__ = ["course"]  # the fixture

NUMBERED = FORWARD.format(value="(status_t)NUMBER")
USES_HEADER = f'#include "number.h"\n{SOLUTION}{HEAD}{NUMBERED}'


# ---- who serves ----------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["release", "debug", "sanitize"])
def test_the_students_rung_serves_if_it_passed_in_this_run(course, mode):
    built = course.links(STUDENT).build(course.rung(CALLER), mode=mode)
    assert built.uses == {"plain": STUDENT}, built
    numbers = {answer(file) for file in built.libraries.values() if mode == "release"}
    assert built.libraries["f32"].is_file() and numbers <= {20}


def test_the_given_object_serves_where_the_rung_did_not_pass(course):
    built = course.built(CALLER)
    assert (built.uses, answer(built.libraries["f64"])) == ({"plain": GIVEN}, 20)
    assert exported(built.libraries["f32"]) == {"gelu_forward"}  # and nothing else
    assert built.directions == ("forward",)


def test_a_given_object_is_made_of_its_ladders_header_too(course):
    header = course.root / "labs/02_naive_c/gelu/number.h"
    course.file("02_naive_c/gelu/00_definition.c", USES_HEADER)
    put(header, "enum { NUMBER = 22 };\n")
    assert course.built(CALLER).uses == {"plain": GIVEN}
    put(header, "enum { NUMBER = 23 };\n")
    assert answer(course.built(CALLER).libraries["f32"]) == 23


def test_a_handout_takes_its_given_object_and_never_lab_02_for_it(course):
    given.build("gelu", course.root / "given" / given.arch())
    put(course.root / "MANIFEST")
    course.file("02_naive_c/gelu/00_definition.c", SOLUTION + forward(66))
    built = course.built(CALLER)
    assert (built.uses, answer(built.libraries["f32"])) == ({"plain": GIVEN}, 20)


def test_where_neither_exists_it_is_blocked_and_the_cause_is_named(course):
    put(course.root / "MANIFEST")
    built = course.built(CALLER)
    assert not built.libraries
    assert "02_naive_c/gelu has not passed forward, and there is no" in built.blocked
    assert "'plain_forward'" in built.blocked and GIVEN in built.blocked
    assert "Grade it first: make grade T=02_naive_c/gelu" in built.blocked


def test_another_choice_and_another_content_are_linked_anew(course):
    links = course.links()
    assert links.build(course.rung(CALLER)).uses == {"plain": GIVEN}
    course.file("02_naive_c/gelu/00_definition.c", forward(30))
    links.found(course.rung(STUDENT), "forward", Verdict.PASS)
    assert answer(links.build(course.rung(CALLER)).libraries["f32"]) == 30
    course.file("02_naive_c/gelu/00_definition.c", forward(31))
    built = course.built(CALLER, STUDENT)  # the next grading
    assert answer(_fresh(built.libraries["f32"])) == 31


def _fresh(library: Path) -> Path:
    """A library that dlopen does not know yet."""
    copy = library.with_suffix(".copy.so")
    copy.write_bytes(library.read_bytes())
    return copy


def test_a_task_is_served_by_its_highest_rung_that_passes(course):
    for number in (1, 2):
        course.file(f"02_naive_c/gelu/0{number}_x.c", forward(20 + number))
    links = course.links(STUDENT, "02_naive_c/gelu/01_x")
    links.found(course.rung("02_naive_c/gelu/02_x"), "forward", Verdict.CRASH)
    built = links.build(course.rung(CALLER))
    assert built.uses == {"plain": "02_naive_c/gelu/01_x"}


NINE = HEAD + BACKWARD.format(value="(status_t)9")
NAMED = '[rung."gelu/00_call"]', 'uses.plain = "02_naive_c/gelu/01_x"'


@pytest.mark.parametrize(
    ("named", "server"),
    [
        pytest.param(forward(21), GIVEN, id="that_is_wrong_is_not_replaced"),
        pytest.param(NINE, STUDENT, id="without_the_direction_is_lent_it"),
    ],
)
def test_a_named_rung_before_a_lower_one_that_is_right(course, named, server):
    course.file("02_naive_c/gelu/01_x.c", named)
    course.lab("03_next", *NAMED)
    assert course.built(CALLER, STUDENT).uses == {"plain": server}


def test_both_directions_may_come_from_two_places(course):
    course.file("02_naive_c/gelu/01_x.c", NINE)
    call = "plain_backward(ctx, grad_output, input, p, grad_input)"
    text = forward("plain") + "gelu_backward_fn plain_backward;\n"
    course.file("03_next/gelu/00_call.c", text + BACKWARD.format(value=call))
    right = "02_naive_c/gelu/01_x"
    built = course.links(right, direction="backward").build(course.rung(CALLER))
    assert built.uses == {"plain_forward": GIVEN, "plain_backward": right}
    assert answer(built.libraries["f32"], "gelu_backward") == 9


def test_a_used_rung_brings_what_it_uses_itself(course):
    course.lab("04_last", '[rung."gelu/00_call"]', f'uses.plain = "{CALLER}"')
    course.file("04_last/gelu/00_call.c", forward("plain"))
    built = course.built("04_last/gelu/00_call", STUDENT, CALLER)
    assert (built.uses, answer(built.libraries["f32"])) == ({"plain": CALLER}, 20)
    assert exported(built.libraries["f32"]) == {"gelu_forward"}


def test_a_use_that_nothing_calls_needs_nobody(course):
    put(course.root / "MANIFEST")
    course.file("03_next/gelu/00_call.c", forward(7))
    built = course.built(CALLER)
    assert (built.uses, answer(built.libraries["f32"])) == ({}, 7)


def test_a_call_that_no_use_declares_is_a_build_error(course):
    course.file("03_next/gelu/00_call.c", forward("plane"))
    assert "calls 'plane_forward'" in course.built(CALLER).error


# ---- lab.toml ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('uses = "gelu"', "'uses' is 'gelu', expected lines like"),
        ('uses.Plain = "02_naive_c/gelu"', "an alias is made of small letters"),
        ('uses.gelu = "02_naive_c/gelu"', "the name 'gelu' is taken"),
        ('uses.forward = "02_naive_c/gelu"', "the name 'forward' is taken"),
        (
            "uses.plain = 3",
            'is 3, expected the name of a rung, like "matmul/05_packed"',
        ),
        ("uses.plain = true", "is True, expected the name of a rung"),
        ('uses.lower = "02_naive_c/gelu"', "the name 'lower' is taken"),
        ('uses.plain = "gelu/01_x"', "is not lower than this rung"),
        ('uses.plain = "gelu"', "is the ladder itself; name one of its lower rungs"),
        ('uses.plain = "02_naive_c"', "is neither a rung nor a task"),
        ('uses.plain = "tanh/00_x"', "no task or rung is called '03_next/tanh/00_x'"),
        ('below = "gelu/00_x"', "needs covers"),
        ('covers = ["x"]\nbelow = true', "expected the name of a lower rung"),
        ('covers = ["x"]\nbelow = "add/00_x"', "a lower rung of the ladder 'gelu'"),
        ('covers = ["x"]\nbelow = "gelu/00_call"', "is not lower than this rung"),
        ('covers = "x"', "expected tags of the operator"),
    ],
)
def test_a_use_that_cannot_be_is_refused_in_one_sentence(course, line, sentence):
    course.lab("03_next", '[rung."gelu/00_call"]', line)
    with pytest.raises(GraderError, match=sentence) as caught:
        all_tasks()
    message = str(caught.value)
    assert message.startswith("labs/03_next/lab.toml: rung 'gelu/00_call'")
    assert "\n" not in message and not message.endswith(".")


def test_rungs_that_use_each_other_in_a_circle_are_refused(course):
    course.lab("02_naive_c", '[rung."gelu/00_definition"]', f'uses.back = "{CALLER}"')
    with pytest.raises(
        GraderError, match=r"in a circle: .* -> .*; remove one of these"
    ):
        all_tasks()


def test_python_neither_uses_nor_is_used(course):
    course.file("01_py/lab.toml", 'language = "python"\n[ladder.gelu]\npoints = 1\n')
    course.file("01_py/gelu/00_x.py", "")
    course.lab("03_next", '[rung."gelu/00_call"]', 'uses.plain = "01_py/gelu"')
    with pytest.raises(GraderError, match="is not in C and has no object to link"):
        all_tasks()
    course.file(
        "01_py/lab.toml",
        'language = "python"\n[ladder.gelu]\npoints = 1\n[rung."gelu/00_x"]\n'
        'uses.plain = "02_naive_c/gelu"\n',
    )
    course.lab("03_next")
    with pytest.raises(GraderError, match="only a rung in C can use another rung"):
        all_tasks()


def test_what_is_used_is_graded_first(course):
    course.lab("03_next", '[rung."add/00_x"]', 'uses.plain = "gelu/00_call"')
    course.file("03_next/add/00_x.c", HEAD)
    lab = [task for task in all_tasks() if task.lab == "03_next"]
    assert [task.operator for task in lab] == ["add", "gelu"]
    assert [task.operator for task in ordered(lab)] == ["gelu", "add"]
