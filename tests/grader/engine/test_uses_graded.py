# SPDX-License-Identifier: MIT
"""Rungs that use others, graded: what is linked, reported, and what it costs."""

from __future__ import annotations

import json
import subprocess

import jsonschema
import pytest

from grader.course.tasks import all_tasks
from grader.engine.results import SCHEMA_FILE
from grader.engine.score import RungResult, TaskResult
from grader.report import terminal
from grader.report.terminal import FEW_USES
from grader.toolchain import given
from tests import put
from tests.grader.engine.test_grade import Tree, copy_of_the_repository

STUDENT, CALLER = "02_naive_c/gelu/00_definition", "03_next/gelu/00_call"
STARTER = "STATUS_NOT_IMPLEMENTED"
GIVEN = f"given/{given.arch()}/gelu"

CALLS = """#include "operators.h"

gelu_forward_fn plain_forward;

status_t gelu_forward(ctx_t *ctx, const tensor_t *input, gelu_params_t p,
                      tensor_t *output)
{
    return plain_forward(ctx, input, p, output);
}
"""


LEAVES = CALLS.replace("gelu_forward_fn plain_forward;\n\n", "").replace(
    "plain_forward(ctx, input, p, output)", "STATUS_UNSUPPORTED"
)


@pytest.fixture
def tree(tools, tmp_path) -> Tree:
    """Lab 02's gelu, and a lab whose gelu calls it, as a handout with given objects."""
    made = copy_of_the_repository(tmp_path, tools, "02_naive_c/gelu")
    head = 'title = "x"\nlanguage = "c"\n[ladder.gelu]\npoints = 2\n'
    (made.root / "labs" / "02_naive_c" / "lab.toml").write_text(head)
    lab = made.root / "labs" / "03_next"
    put(lab / "gelu" / "00_call.c", CALLS)
    put(lab / "gelu" / "01_top.c", LEAVES)
    (lab / "lab.toml").write_text(
        head + '[rung."gelu/00_call"]\nuses.plain = "02_naive_c/gelu"\n'
        '[rung."gelu/01_top"]\ncovers = ["packed"]\n'
    )
    return made


def used(tree: Tree) -> dict[str, dict[str, str]]:
    """Of lab 03: rung -> what it used."""
    rungs = tree.task("03_next/gelu")["rungs"]
    return {rung["id"].rsplit("/")[-1]: rung["uses"] for rung in rungs}


def forward_only(tree: Tree, *wanted: str) -> subprocess.CompletedProcess[str]:
    return tree.run("grade", *wanted, "CHECK=forward")


def test_a_grading_links_what_passed_and_reports_it(tree):
    done = forward_only(tree)
    assert done.returncode == 0, done.stdout
    assert used(tree) == {"00_call": {"plain": STUDENT}, "01_top": {}}
    assert f"in {CALLER}, plain is {STUDENT}" in " ".join(done.stdout.split())
    assert tree.verdicts("03_next/gelu/01_top")["forward"] == "NOT_IMPLEMENTED"
    top = next(r for r in tree.task("03_next/gelu")["rungs"] if "01_top" in r["id"])
    assert "covers none of the" in str(top["checks"])
    jsonschema.validate(tree.results, json.loads(SCHEMA_FILE.read_text()))

    # alone, it is known from results.json; changed, it is not known any more
    forward_only(tree, CALLER)
    assert used(tree)["00_call"] == {"plain": STUDENT}
    file = tree.root / "labs" / f"{STUDENT}.c"
    file.write_text(file.read_text() + "\n")
    done = forward_only(tree, CALLER)
    assert used(tree)["00_call"] == {"plain": GIVEN}
    assert tree.verdicts(CALLER)["forward"] == "PASS", done.stdout


def test_a_wrong_rung_costs_its_own_points_only(tree):
    assert forward_only(tree, CALLER).returncode == 0  # builds the given one
    (tree.build / "given" / given.arch()).rename(tree.root / "kept")
    (tree.root / "MANIFEST").write_text("")
    file = tree.root / "labs" / f"{STUDENT}.c"
    file.write_text(file.read_text().replace("(accum)0.5", "(accum)0.51"))

    done = forward_only(tree)
    assert done.returncode == 1 and "Traceback" not in done.stdout + done.stderr
    assert tree.verdicts(CALLER)["forward"] == "BLOCKED"
    task = tree.task("03_next/gelu")
    assert task["points"] == 0 and task["pending"] > 0, done.stdout
    assert "02_naive_c/gelu has not passed forward" in done.stdout

    (tree.root / "given").mkdir()
    (tree.root / "kept").rename(tree.root / "given" / given.arch())
    done = forward_only(tree)
    assert tree.verdicts(CALLER)["forward"] == "PASS", done.stdout
    assert tree.task("03_next/gelu")["points"] > 0 and done.returncode == 1
    assert tree.task("02_naive_c/gelu")["points"] == 0
    assert used(tree)["00_call"] == {"plain": GIVEN}


@pytest.mark.parametrize(
    ("name", "alias", "until"),
    [
        (
            "05_torch_extension/gelu/stable",
            "forward on the CPU",
            "a file in labs/03_im",
        ),
        ("03_im2col_cpu/conv2d/00_unfold_gemm", "product", "your labs/03_im2col_cpu/"),
        ("02_naive_c/gelu/00_definition", "gone", "your own file is right"),
    ],
)
def test_a_given_object_is_told_with_the_file_in_its_place(capsys, name, alias, until):
    task, rung = next((t, r) for t in all_tasks() for r in t.rungs if r.id == name)
    found = RungResult(rung, (), {alias: GIVEN})
    terminal._uses([TaskResult(task, (found,))])
    said = " ".join(capsys.readouterr().out.split())
    assert f"{alias} is {GIVEN}, a given object, until {until}" in said


def test_of_many_uses_only_those_of_given_objects_are_listed(capsys):
    """Forty lines about files that are where they should be hide the points."""
    task, rung = next((t, r) for t in all_tasks() for r in t.rungs if r.uses)
    own = {f"alias{i}": STUDENT for i in range(FEW_USES)}
    for uses, lines in (own, FEW_USES), ({**own, "other": GIVEN}, 2):
        terminal._uses([TaskResult(task, (RungResult(rung, (), uses),))])
        said = capsys.readouterr().out
        assert len(said.splitlines()) == lines
    assert f"other is {GIVEN}" in said
    assert f"your files use other files of yours {FEW_USES} times" in said
