# SPDX-License-Identifier: MIT
"""Rungs that lab.toml names and that have no file: told, and no reason to stop."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.course import rungs
from grader.course.candidates import candidates
from grader.course.missing_rungs import absent
from grader.course.tasks import all_tasks
from tests import put

TOML = """language = "c"
[ladder.gelu]
points = 1
[rung."gelu/07_none"]
flags = ["-O2"]
[rung."gelu/02_top"]
uses.plain = "02_naive_c/gelu/09_gone"
uses.tiles = "gelu/01_gone"
"""


def test_lower_rungs_take_the_place_of_one_without_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rungs, "ROOT", tmp_path)
    labs = tmp_path / "labs"
    for name in (
        "02_naive_c/gelu/00_plain",
        "03_next/gelu/00_x",
        "03_next/gelu/02_top",
    ):
        put(labs / f"{name}.c", "")
    put(labs / "02_naive_c/lab.toml", "\n".join(TOML.splitlines()[:3]))
    put(labs / "03_next/lab.toml", TOML)
    all_tasks.cache_clear()
    try:
        tasks = {task.id: task for task in all_tasks()}
        (sentence,) = absent()
    finally:
        all_tasks.cache_clear()
    top = tasks["03_next/gelu"].rungs[-1]
    served = [[r.id for r in candidates(top, use, tasks)] for use in top.uses]
    assert served == [["02_naive_c/gelu/00_plain"], ["03_next/gelu/00_x"]]
    gone = "02_naive_c/gelu/09_gone, 03_next/gelu/01_gone, 03_next/gelu/07_none"
    assert sentence.startswith(
        f"labs/03_next/lab.toml names rungs that have no file: {gone}"
    )
