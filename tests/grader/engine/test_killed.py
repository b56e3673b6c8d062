# SPDX-License-Identifier: MIT
"""A grading that is killed at any moment: what is kept is whole, and the next one ends.

KILLS=30 draws more moments than a test run can wait for.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from grader.engine.answers.ledger import NAME
from tests.grader.engine.test_grade import (
    Tree,
    copy_of_the_repository,
    until,
    workers_of,
)
from tests.proofs.trust import proc_file

LADDERS = "02_naive_c/gelu", "02_naive_c/subm_conv3d"
KILLS = int(os.environ.get("KILLS", "3"))


@pytest.fixture(scope="module")
def graded(
    tools: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Tree, dict[str, Any], float]:
    """A tree, what a grading of it finds, and the seconds it takes."""
    root = tmp_path_factory.mktemp("killed")
    tree = copy_of_the_repository(root, tools, *LADDERS)
    start = time.monotonic()
    tree.run("grade", "SEED=3", JOBS="2")
    return tree, verdicts(tree), time.monotonic() - start


def verdicts(tree: Tree) -> dict[str, Any]:
    return {
        rung["id"]: [(c["name"], c["dtype"], c["verdict"]) for c in rung["checks"]]
        for task in tree.results["tasks"]
        for rung in task["rungs"]
    }


def begun(processes: list[int]) -> list[int]:
    """Those that are more than bwrap before it has made its namespaces."""
    comms = ((pid, proc_file(Path(f"/proc/{pid}"), "comm")) for pid in processes)
    return [pid for pid, comm in comms if comm not in (b"bwrap\n", b"")]


@pytest.mark.parametrize("number", range(KILLS))
def test_a_killed_grading_leaves_whole_files_and_no_process(
    graded: tuple[Tree, dict[str, Any], float], number: int
) -> None:
    tree, right, usual = graded
    moment = random.uniform(0, usual)
    process = tree.start("grade", "SEED=3", JOBS="2")
    time.sleep(moment)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=20)
    # what has begun ends; a sandbox that had not is ended by the next grading
    assert until(lambda: not begun(workers_of(tree)), seconds=10)

    json.loads(tree.results_file.read_text())
    with sqlite3.connect(tree.build / "grade" / NAME) as base:
        assert base.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    done = tree.run("grade", "SEED=3", JOBS="2")
    assert "cannot be read" not in done.stderr, f"killed after {moment:.3f} s"
    assert verdicts(tree) == right, f"killed after {moment:.3f} s"
    assert until(lambda: not workers_of(tree), seconds=10)
