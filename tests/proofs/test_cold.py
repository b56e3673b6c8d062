# SPDX-License-Identifier: MIT
"""A cold grading fails for what a student must not see, and is of a fresh clone."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from grader.verdicts import Verdict
from tests import ROOT, put
from tests.proofs import cold


def entry(*verdicts: str) -> dict[str, Any]:
    checks = [dict(name="forward", verdict=v, message="why") for v in verdicts]
    return {"id": "02_naive_c/gelu/00_definition", "checks": checks}


@pytest.mark.parametrize("verdict", Verdict)
def test_nothing_will_do_but_pass_and_what_waits_for_a_card(verdict: Verdict) -> None:
    fine = verdict in (Verdict.PASS, Verdict.PENDING_GPU, Verdict.SKIPPED)
    found = list(cold.wrong([entry("PASS", str(verdict))]))
    assert found == ([] if fine else [f"{entry()['id']} forward {verdict}: why"])


@pytest.mark.parametrize(
    ("files", "wrong", "status"), [(0, [], 0), (9, ["x"], 0), (9, [], 3)]
)
def test_a_run_without_a_table_or_with_another_status_fails(
    files: int, wrong: list[str], status: int
) -> None:
    assert cold.Run("", files, wrong, status, 1.0, "").failed
    assert not cold.Run("", 9, [], 0, 1.0, "").failed
    assert not cold.Run("", 9, [], 0, 1.0, "", whole=False).failed


def test_every_run_begins_without_a_build_folder_and_with_nothing_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a tree whose `make grade` tells what it finds."""
    put(tmp_path / "Makefile", "grade:\n\t@ls; env\n")
    put(tmp_path / "build" / "old")
    monkeypatch.setenv("JOBS", "1")
    said = cold.grade(tmp_path).said.split("\n")
    assert "Makefile" in said and "build" not in said
    assert not [line for line in said if line.startswith(("JOBS=", "CONVLAB_BUILD="))]
    assert "JOBS=4" in cold.grade(tmp_path, "4").said.split("\n")


def test_the_small_tree_is_part_of_what_git_tracks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "labs"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    tree = cold.clone(tmp_path / "tree", small=True)
    kept = {str(f.relative_to(tree)) for f in (tree / "labs").rglob("*") if f.is_file()}
    assert kept < set(tracked.stdout.splitlines())
    assert "labs/02_naive_c/layer_norm/00_two_pass.c" in kept
    assert "labs/05_torch_extension/csrc/stable/conv2d.cpp" in kept
    assert not (tree / "labs" / "04_cuda_kernels" / "conv2d").exists()
