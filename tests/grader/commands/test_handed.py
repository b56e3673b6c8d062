# SPDX-License-Identifier: MIT
"""An unpacked handout: a file is put back, a new one comes, solutions are opened."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from grader.course.rungs import ROOT
from grader.course.tasks import all_tasks
from tests.grader.commands.test_handout import grader, made, repository

__all__ = ["made", "repository"]  # fixtures


def test_a_file_can_be_put_back_and_a_copy_is_kept(made, tmp_path):
    tree = tmp_path / "tree"
    shutil.copytree(made.tree, tree)
    file, other = (tree / "labs/02_naive_c" / name for name in (
        "gelu/00_definition.c", "add/00_broadcast.c"))  # fmt: skip
    before = file.read_bytes()
    file.write_text("mine\n")
    other.write_text("too\n")
    done = grader(tree, "reset", "02_naive_c/gelu")
    assert done.returncode == 2 and "; add YES=1" in done.stderr
    assert file.read_text() == "mine\n"
    place = {**os.environ, "YES": "1"}
    command = [sys.executable, "-m", "grader", "reset", "02_naive_c/gelu"]
    done = subprocess.run(command, cwd=tree, env=place, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert file.read_bytes() == before and other.read_text() == "too\n"
    (copy,) = (tree / "kept").rglob("00_definition.c")
    assert copy.read_text() == "mine\n"
    assert str(copy.relative_to(tree)) in done.stdout


def test_a_file_that_is_gone_comes_back_with_the_case_of_an_exhibit(made, tmp_path):
    tree = tmp_path / "tree"
    shutil.copytree(made.tree, tree)
    file = tree / "labs/02_naive_c/bug_hunt/01_window_axes.case.toml"
    before = file.read_bytes()
    file.unlink()
    place = {**os.environ, "YES": "1"}
    command = [sys.executable, "-m", "grader", "reset", "02_naive_c/bug_hunt/01"]
    done = subprocess.run(command, cwd=tree, env=place, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert file.read_bytes() == before
    assert done.stdout.rstrip().endswith("is the starter again")


def test_the_same_handout_once_more_changes_nothing_and_loses_nothing(made, tmp_path):
    tree = tmp_path / "tree"
    shutil.copytree(made.tree, tree)
    mine = tree / "labs/02_naive_c/gelu/00_definition.c"
    mine.write_text("mine\n")
    command = [sys.executable, "-m", "grader", "update"]
    place = {**os.environ, "FROM": str(made.folder / "convlab-handout.zip")}
    done = subprocess.run(command, cwd=tree, env=place, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "0 files are new, 0 were removed" in done.stdout
    assert mine.read_text() == "mine\n" and not (tree / "kept").exists()
    done = grader(tree, "update")
    assert done.returncode == 2 and "FROM=convlab-handout.zip" in done.stderr


def test_solutions_are_locked_until_their_key_is_given_out(made, tmp_path):
    tree = tmp_path / "tree"
    shutil.copytree(made.tree, tree)
    archive = made.folder / "convlab-solutions.zip"
    lines = (made.folder / "solution-keys.txt").read_text().splitlines()
    keys = dict(line.removeprefix("make solution T=").split(" KEY=") for line in lines)
    assert set(keys) == {task.id for task in all_tasks()}

    def opened(task: str, key: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "grader", "solution", task]
        place = {**os.environ, "FROM": str(archive), "KEY": key}
        return subprocess.run(
            command, cwd=tree, env=place, capture_output=True, text=True
        )

    refused = opened("02_naive_c/gelu", keys["02_naive_c/add"])
    assert refused.returncode == 2 and "does not open" in refused.stderr
    refused = opened("02_naive_c/gelu", "")
    assert refused.returncode == 2 and "are locked" in refused.stderr
    assert not (tree / "solutions").exists()
    done = opened("02_naive_c/gelu", keys["02_naive_c/gelu"])
    assert done.returncode == 0, done.stderr
    name = "labs/02_naive_c/gelu/00_definition.c"
    assert (tree / "solutions" / name).read_bytes() == (ROOT / name).read_bytes()
    assert "BEGIN SOLUTION" not in (tree / name).read_text()
    done = opened("03_im2col_cpu/conv2d", keys["03_im2col_cpu/conv2d"])
    assert done.returncode == 0, done.stderr
    header = "labs/03_im2col_cpu/conv2d/register_block.h"
    assert (tree / "solutions" / header).read_bytes() == (ROOT / header).read_bytes()
    assert "vec_keep" not in (tree / header).read_text()
    data = archive.read_bytes()
    assert b"tensor_numel" not in data and b"status_t" not in data
