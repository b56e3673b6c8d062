# SPDX-License-Identifier: MIT
"""A cold grading with several jobs at a time: they share products, and all come out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import put
from tests.grader.engine.test_grade import Tree, copy_of_the_repository
from tests.grader.engine.test_uses_graded import CALLS

# with one of its own no file waits for the one below
BACKWARD = """
gelu_backward_fn plain_backward;

status_t gelu_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                       gelu_params_t p, tensor_t *grad_input)
{
    return plain_backward(ctx, grad_output, input, p, grad_input);
}
"""
LAB = '[rung."gelu/{name}"]\nuses.plain = "02_naive_c/gelu"\n'
NAMES = [f"{number:02}_call" for number in range(6)]
CALLERS = [f"03_next/gelu/{name}" for name in NAMES]


@pytest.fixture
def tree(tools: Path, tmp_path: Path) -> Tree:
    """Lab 02's gelu, and a lab whose files all call it: with no lab 02 in the run that
    is one given object for all of them.
    """
    made = copy_of_the_repository(tmp_path, tools, "02_naive_c/gelu")
    lab = made.root / "labs" / "03_next"
    for name in NAMES:
        put(lab / "gelu" / f"{name}.c", CALLS + BACKWARD)
    head = 'title = "x"\nlanguage = "c"\n[ladder.gelu]\npoints = 2\n'
    put(lab / "lab.toml", head + "".join(LAB.format(name=name) for name in NAMES))
    return made


def objcopy(tree: Tree, act: str) -> str:
    """A PATH with an objcopy that acts so whenever it makes a given object."""
    tool = put(
        tree.root / "bin" / "objcopy",
        f'#!/bin/sh\ncase "$*" in *--strip-debug*) {act} ;; esac\n'
        'exec /usr/bin/objcopy "$@"\n',
    )
    tool.chmod(0o755)
    return f"{tool.parent}:/usr/bin:/bin"


def forward(tree: Tree) -> dict[str, str]:
    """The verdict of each caller."""
    return {name: tree.verdicts(name)["forward"] for name in CALLERS}


def test_jobs_that_share_a_product_make_it_once(tree: Tree) -> None:
    first = tree.root / "first"  # it takes longer: the others come meanwhile
    path = objcopy(tree, f"mkdir {first} 2> /dev/null && sleep 2")
    done = tree.run("grade", "03", CHECK="forward", JOBS="4", PATH=path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert forward(tree) == dict.fromkeys(CALLERS, "PASS")


@pytest.mark.parametrize("jobs", ["1", "4"])
def test_a_product_that_cannot_be_made_costs_its_rung_and_no_run(
    tree: Tree, jobs: str
) -> None:
    own = tree.root / "labs" / "03_next" / "gelu" / "09_own.c"
    put(own, (tree.root / "labs/02_naive_c/gelu/00_definition.c").read_text())
    path = objcopy(tree, "echo 'objcopy: no.o: file truncated' >&2; exit 1")
    done = tree.run("grade", "03", CHECK="forward", JOBS=jobs, PATH=path)
    assert done.returncode == 3 and "GRADER" in done.stdout, done.stdout + done.stderr
    assert forward(tree) == dict.fromkeys(CALLERS, "GRADER")
    assert tree.verdicts("03_next/gelu/09_own")["forward"] == "PASS"
    assert "cannot build a given object: objcopy: " in " ".join(done.stdout.split())
