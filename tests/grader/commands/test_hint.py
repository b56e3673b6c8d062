# SPDX-License-Identifier: MIT
"""Hints come one by one, for a ladder and for one of its rungs."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.commands import cli, hint
from grader.course import rungs, tasks
from grader.course.rungs import Selection
from grader.errors import GraderError
from tests import put

TOML = """language = "c"
[ladder.gelu]
points = 2
hints = ["think", "think of erf"]
[rung."gelu/01_faster"]
hints = ["a table", "a table of erf"]
[rung."gelu/02_fastest"]
hints = ["no table"]
"""
LADDER = "02_naive_c/gelu"


@pytest.fixture
def ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """What `make hint T=` says in a tree with one ladder of three rungs."""
    monkeypatch.setattr(rungs, "ROOT", tmp_path)
    monkeypatch.setenv("CONVLAB_BUILD", str(tmp_path / "build"))
    folder = tmp_path / "labs" / "02_naive_c"
    for name in ("00_plain", "01_faster", "02_fastest"):
        put(folder / "gelu" / f"{name}.c")
    (ladder,) = tasks._lab(put(folder / "lab.toml", TOML))

    def select(wanted: str) -> Selection:
        ids = {rung.id for rung in ladder.rungs if rung.id.startswith(wanted)}
        return Selection((ladder,), frozenset(ids), whole=False)

    monkeypatch.setattr(hint, "select", select)

    def asked(wanted: str) -> list[str]:
        assert cli.run("hint", [wanted]) == 0
        return capsys.readouterr().out.splitlines()

    return asked


def test_a_ladder_tells_one_more_each_time_and_which_files_have_their_own(ask):
    more = f"hints about one file: make hint T={LADDER}/01_faster (also 02_fastest)"
    assert ask(LADDER) == ["hint 1 of 2: think", more]
    said = ["hint 1 of 2: think", "hint 2 of 2: think of erf", more]
    assert ask(LADDER) == said
    assert ask(LADDER) == said


def test_a_rung_has_hints_of_its_own_and_counts_for_itself(ask):
    ask(LADDER)
    assert ask(f"{LADDER}/01_faster") == ["hint 1 of 2: a table"]
    assert ask(f"{LADDER}/02") == ["hint 1 of 1: no table"]
    assert ask(f"{LADDER}/01")[-1] == "hint 2 of 2: a table of erf"


def test_a_rung_without_hints_has_those_of_its_ladder(ask):
    assert ask(f"{LADDER}/00_plain") == ["hint 1 of 2: think"]


def test_of_several_tasks_it_asks_which_one(ask, monkeypatch):
    two = [tasks.Task("02_naive_c", name, "c", 1, hints=("x",)) for name in "ab"]
    several = Selection(tuple(two), frozenset(), whole=False)
    monkeypatch.setattr(hint, "select", lambda _: several)
    said = "02 names several tasks; choose one: 02_naive_c/a, 02_naive_c/b$"
    with pytest.raises(GraderError, match=said):
        ask("02")


def test_a_ladder_without_hints_says_so(ask, monkeypatch):
    bare = tasks.Task("02_naive_c", "add", "c", 1)
    nothing = Selection((bare,), frozenset(), whole=False)
    monkeypatch.setattr(hint, "select", lambda _: nothing)
    with pytest.raises(GraderError, match="02_naive_c/add has no hints"):
        ask("02_naive_c/add")
