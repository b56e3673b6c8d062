# SPDX-License-Identifier: MIT
"""A numbered file that is no rung is a line, and the others are graded."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.course import rungs, tasks
from tests import put

TOML = 'language = "c"\n[ladder.gelu]\npoints = 2\n'


@pytest.mark.parametrize(
    "name",
    ["00_definition copy.c", "1_mine.c", "01.c", "01_Mine.c", "01-mine.c", "00_\n.c"],
)
def test_a_strange_name_is_a_line_under_its_task(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rungs, "ROOT", tmp_path)
    folder = tmp_path / "labs" / "02_naive_c"
    put(folder / "gelu" / "00_definition.c")
    put(folder / "gelu" / name)
    found = tasks._lab(put(folder / "lab.toml", TOML))
    assert [rung.file.name for rung in found[0].rungs] == ["00_definition.c"]
    (line,) = tasks.strange(found)
    assert line.startswith("02_naive_c/gelu: ") and "\n" not in line
    assert "is not graded: a rung is named by two digits and an idea" in line


def test_a_link_a_folder_and_a_large_file_are_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rungs, "ROOT", tmp_path)
    folder = tmp_path / "labs" / "02_naive_c"
    put(folder / "gelu" / "02_large.c", "x" * (tasks.LARGEST + 1))
    (folder / "gelu" / "01_link.c").symlink_to("02_large.c")
    (folder / "gelu" / "00_folder.c").mkdir()
    found = tasks._lab(put(folder / "lab.toml", TOML))
    assert not found[0].rungs and len(tasks.strange(found)) == 3
