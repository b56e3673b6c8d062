# SPDX-License-Identifier: MIT
"""What becomes of one file of the repository in the handout: text in, text out."""

from __future__ import annotations

import json

import pytest

from grader.commands import handout
from grader.errors import GraderError


def test_a_new_command_has_to_be_decided_on():
    with pytest.raises(GraderError, match="is 'make solve' for students"):
        handout.makefile("solve:  ## everything\n\t@true\n")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (
            "a\n<!-- repository -->\nb\n<!-- /repository -->\n<!-- handout\nc\n-->\n",
            "a\nc\n",
        ),
        ("| x | y |\n| b | c <!-- repository --> |\n", "| x | y |\n"),
    ],
)
def test_a_page_loses_what_is_about_the_repository(text, left):
    assert handout.page(text) == left


def test_a_notebook_loses_outputs_and_solutions():
    code = {"cell_type": "code", "outputs": [{"text": "42"}], "execution_count": 3}
    marked = "# BEGIN SOLUTION\nx = 42\n# END SOLUTION\n# STARTER x = ...\nprint(x)"
    cells = [
        {**code, "source": [marked], "metadata": {}},
        {**code, "source": ["x = 42"], "metadata": {"tags": ["solution"]}},
    ]
    (cell,) = json.loads(handout.notebook("x", json.dumps({"cells": cells})))["cells"]
    assert "".join(cell["source"]) == "x = ...\nprint(x)"
    assert (cell["outputs"], cell["execution_count"]) == ([], None)
    with pytest.raises(GraderError, match="x is not a notebook"):
        handout.notebook("x", "{}")


def test_a_starter_line_that_stands_alone_is_uncovered():
    solved = (
        "    // BEGIN SOLUTION\n    f();\n    // END SOLUTION\n    // STARTER g();\n"
    )
    given = handout.starter(f"    // STARTER return 1;  // delete\n{solved}    h();\n")
    assert given == "    return 1;  // delete\n    g();\n    h();\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("int x;\n", "has no line BEGIN SOLUTION, so students would get"),
        (
            "// BEGIN SOLUTION\n// END SOLUTION\n// BEGIN SOLUTION\n",
            "must follow each other",
        ),
    ],
)
def test_a_rung_whose_solution_is_not_marked_is_not_shipped(text, sentence):
    with pytest.raises(GraderError, match=sentence):
        handout._student_edition("labs/02_naive_c/gelu/05_x.c", text)
