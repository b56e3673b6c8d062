# SPDX-License-Identifier: MIT
"""Who debugs by printing sees it; and no file words a line of the grader's."""

from __future__ import annotations

import json

import jsonschema
import pytest

from grader.engine.results import SCHEMA_FILE
from tests.grader.engine.test_grade import Tree, copy_of_the_repository

FIRST = "(void)ctx;"
FORGED = r"\033[2J\rconvlab: 10 of 10 points\tPASS"
SAYS = f"""#include <stdio.h>
#define SPEAK \\
    const int COUNT = (int)tensor_numel(input); \\
    printf("{FORGED}\\nCOUNT is %d\\nno end", COUNT); \\
    BREAK
"""
AFTER = "the file itself printed, in case"


@pytest.fixture
def tree(tools, tmp_path) -> Tree:
    return copy_of_the_repository(tmp_path, tools, "02_naive_c/gelu")


def said(tree: Tree, then: str) -> str:
    """What a grading shows of a file whose functions print, and `then` do this."""
    file = tree.root / "labs/02_naive_c/gelu/00_definition.c"
    text = file.read_text()
    assert FIRST in text
    begin = SAYS + f"#define BREAK {then}\n"
    file.write_text(begin + text.replace(FIRST, f"{FIRST}\n    SPEAK;"))
    done = tree.run("grade", "02_naive_c/gelu")
    assert "Traceback" not in done.stderr, done.stderr
    jsonschema.validate(tree.results, json.loads(SCHEMA_FILE.read_text()))
    return done.stdout


def printed(tree: Tree) -> list[dict]:
    (rung,) = tree.task("02_naive_c/gelu")["rungs"]
    return [check["printed"] for check in rung["checks"] if "printed" in check]


def test_what_a_right_file_prints_is_shown_once_as_its_own_words(tree: Tree) -> None:
    text = said(tree, "")
    assert text.count(AFTER) == 1
    lines = text[text.index(AFTER) :].splitlines()
    assert lines[1] == "  | ?[2J?convlab: 10 of 10 points PASS"
    assert lines[2].startswith("  | COUNT is ") and lines[3] == "  | no end"
    assert tree.verdicts("02_naive_c/gelu/00_definition")["forward"] == "PASS"
    assert len(printed(tree)) == 2  # of forward, of backward
    page = (tree.build / "grade" / "report.html").read_text()
    assert "| COUNT is" in page


def test_of_a_file_that_crashes_it_is_the_words_before_it_did(tree: Tree) -> None:
    text = said(tree, "if (COUNT > 100) *(volatile int *)8 = 1")
    found = printed(tree)[0]
    check = next(
        c
        for c in tree.task("02_naive_c/gelu")["rungs"][0]["checks"]
        if c["verdict"] != "PASS"
    )
    assert check["verdict"] == "CRASH" and check["message"].startswith(found["case"])
    assert int(found["lines"][1].removeprefix("COUNT is ")) > 100
    assert f"{AFTER} {found['case']}:" in text
    assert not any(line.startswith("convlab: 10") for line in text.splitlines())


def test_of_a_file_that_never_stops_printing_the_beginning_is_kept(tree: Tree) -> None:
    said(tree, 'for (int i = 0; i < 20000; i++) printf("%d\\n", i)')
    found = printed(tree)[0]
    assert found["more"] and len(found["lines"]) <= 8 and found["lines"][2] == "no end0"


def test_a_file_in_python_prints_too(tools, tmp_path) -> None:
    tree = copy_of_the_repository(tmp_path, tools, "01_python_function/gelu")
    file = tree.root / "labs/01_python_function/gelu/00_product_rule.py"
    text = file.read_text()
    place = "def forward(input: Tensor, approximate: str) -> Tensor:\n"
    assert place in text
    text = text.replace(place, f"{place}        print('shape', input.shape)\n", 1)
    file.write_text(text + "\nprint('loaded')\n")
    tree.run("grade", "01_python_function/gelu")
    (rung,) = tree.task("01_python_function/gelu")["rungs"]
    found = [check["printed"] for check in rung["checks"] if "printed" in check]
    assert found[0] == {"case": "", "lines": ["loaded"], "more": False}
    assert found[1]["lines"][0].startswith("shape torch.Size(")
