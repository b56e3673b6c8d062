# SPDX-License-Identifier: MIT
"""What a second grading asks again: what changed, and what depends on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from grader.engine.results import SCHEMA_FILE
from tests import put
from tests.grader.engine.test_grade import Tree, copy_of_the_repository
from tests.grader.engine.test_uses_graded import CALLS

OWN = """#include "operators.h"

status_t gelu_forward(ctx_t *ctx, const tensor_t *input, gelu_params_t p,
                      tensor_t *output)
{
    return STATUS_NOT_IMPLEMENTED;
}
"""


LEAVES = CALLS.replace("gelu_forward_fn plain_forward;\n\n", "").replace(
    "plain_forward(ctx, input, p, output)", "STATUS_UNSUPPORTED"
)


@pytest.fixture
def tree(tools: Path, tmp_path: Path) -> Tree:
    """Lab 02's gelu and lab 03's, where one calls it, one its ladder, one nobody."""
    made = copy_of_the_repository(tmp_path, tools, "02_naive_c/gelu")
    lab = made.root / "labs" / "03_next"
    put(lab / "gelu" / "00_call.c", CALLS)
    put(lab / "gelu" / "01_top.c", LEAVES)
    put(lab / "gelu" / "02_own.c", OWN)
    (lab / "lab.toml").write_text(
        'title = "x"\nlanguage = "c"\n[ladder.gelu]\npoints = 2\n'
        '[rung."gelu/00_call"]\nuses.plain = "02_naive_c/gelu"\n'
        '[rung."gelu/01_top"]\ncovers = ["packed"]\n'
    )
    return made


def graded(tree: Tree, *words: str, **environment: str) -> set[str]:
    """The files that a grading asks anew."""
    done = tree.run("grade", *words, CI="", **environment)
    assert done.returncode in (0, 1), done.stderr
    jsonschema.validate(tree.results, json.loads(SCHEMA_FILE.read_text()))
    rungs = [rung for task in tree.results["tasks"] for rung in task["rungs"]]
    return {rung["id"].rpartition("/")[2] for rung in rungs if "date" not in rung}


ALL = {"00_definition", "00_call", "01_top", "02_own"}


def plain(value: Any) -> Any:
    """A result without what may differ between runs."""
    if isinstance(value, dict):
        left = ("date", "seed", "seconds", "replay")
        return {k: plain(v) for k, v in value.items() if k not in left}
    return [plain(v) for v in value] if isinstance(value, list) else value


def test_only_what_changed_is_asked_again(tree: Tree) -> None:
    assert graded(tree) == ALL
    first = plain(tree.results)
    assert graded(tree) == set()
    assert plain(tree.results) == first  # and nothing is lost

    file = tree.root / "labs" / "03_next" / "gelu" / "02_own.c"
    file.write_text(file.read_text() + "\n")
    assert graded(tree) == {"02_own"}

    file = tree.root / "labs" / "02_naive_c" / "gelu" / "00_definition.c"
    file.write_text(file.read_text() + "\n")
    assert graded(tree) == {"00_definition", "00_call"}

    put(tree.root / "labs" / "03_next" / "gelu" / "shared.h", "// for its files\n")
    assert graded(tree) == {"00_call", "01_top", "02_own"}

    head = tree.root / "common" / "tensor.h"
    head.write_text(head.read_text() + "\n")
    assert graded(tree) == ALL
    assert graded(tree, "CHECK=forward") == set()


def test_a_part_of_the_labs_is_not_asked_again_behind_all_of_them(tree: Tree) -> None:
    """What a file uses has not changed because it is not in the run."""
    assert graded(tree) == ALL
    assert graded(tree, "03") == set()
    assert graded(tree, "02") == set()
    file = tree.root / "labs" / "02_naive_c" / "gelu" / "00_definition.c"
    file.write_text(file.read_text() + "\n")
    assert graded(tree, "02") == {"00_definition"}
    assert graded(tree, "03") == {"00_call"}
    assert graded(tree) == set()


def test_a_seed_and_fresh_ask_everything_again(tree: Tree) -> None:
    assert graded(tree) == ALL
    assert graded(tree, "SEED=3") == ALL
    assert graded(tree, FRESH="1") == ALL
    assert graded(tree, FRESH="0") == set()
    assert tree.run("grade", CI="true").returncode in (0, 1)
    (rung,) = tree.task("02_naive_c/gelu")["rungs"]
    assert "date" not in rung


def test_a_reused_answer_says_so_and_keeps_its_seed(tree: Tree) -> None:
    file = tree.root / "labs" / "02_naive_c" / "gelu" / "00_definition.c"
    file.write_text(file.read_text().replace("return STATUS_OK;", "break;", 1))
    wrong = file.read_text().replace("break;", "*real_data(output) = 3;\n return 0;", 1)
    file.write_text(wrong)
    done = tree.run("grade", "02", "SEED=41", CI="")
    assert done.returncode == 1 and "SEED=41" in done.stdout
    done = tree.run("grade", "02", CI="")
    assert done.returncode == 1 and "SEED=41" in done.stdout
    assert "has not changed since an earlier grading: its results are" in " ".join(
        done.stdout.split()
    )
    assert "FRESH=1" in done.stdout


def test_the_verdicts_are_the_same_for_any_number_of_jobs(tree: Tree) -> None:
    tree.run("grade", "SEED=5", JOBS="1")
    one = plain(tree.results)
    tree.run("grade", "SEED=5", JOBS="3")
    assert plain(tree.results) == one


def test_results_that_were_lost_are_written_again_from_the_ledger(tree: Tree) -> None:
    graded(tree)
    before = [task for task in plain(tree.results["tasks"]) if task["rungs"]]
    for spoil in (tree.results_file.unlink, lambda: tree.results_file.write_text("{")):
        spoil()
        tree.run("grade", "03", CI="")
        assert plain(tree.results["tasks"]) == before
    (rung,) = tree.task("02_naive_c/gelu")["rungs"]
    assert "date" in rung


def test_a_ledger_that_is_damaged_costs_a_sentence(tree: Tree) -> None:
    graded(tree)
    file = tree.build / "grade" / "ledger.sqlite"
    file.write_bytes(b"x" * 5000)
    done = tree.run("grade", CI="")
    assert "ledger.sqlite cannot be read" in " ".join(done.stderr.split())
    assert "every check runs again" in " ".join(done.stderr.split())
    assert graded(tree) == set()
