# SPDX-License-Identifier: MIT
"""`make submission`: an inbox of archives, each called after its student. A name is
data: whatever it says, nothing of it runs. The grading itself is made up here.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from grader.commands import cli
from grader.engine.marks import desk, hand_in
from grader.errors import GraderError
from grader.handout import course_trees
from grader.report import mark_table
from tests import put
from tests.grader.commands.test_handed_in import GELU, as_zip
from tests.grader.course.offered import TEXT
from tests.grader.engine.marks.test_marks import graded

NAMES = [
    "alice",
    "O'Brien",
    "x'; touch A; echo '",
    "y$(touch A)",
    "`touch A`",
    "$(shell touch A)",
    "50% # a b",
    "two\nlines: 100 of 100",
    "-rf",
    "[red]x",
    "n" * 240,
    "ü" * 120,
]


@pytest.fixture
def inbox(tmp_path, monkeypatch) -> Path:
    """An empty inbox of a course with a handout; a grading gives all points."""
    folder = tmp_path / "inbox"
    folder.mkdir()
    tree = tmp_path / "build" / "handout" / "two_labs" / "student"
    put(tree / "MANIFEST")
    monkeypatch.setenv("CONVLAB_BUILD", str(tmp_path / "build"))
    monkeypatch.setenv("DESK", str(tmp_path / "desk"))
    monkeypatch.setenv("COURSE", str(put(tmp_path / "course.toml", TEXT)))
    for name in ("FROM", "NAME", "WHEN", "PART", "TO"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(course_trees, "_try_hidden", lambda made: None)
    monkeypatch.setattr(course_trees, "hide", lambda tree, made: None)
    monkeypatch.setattr(mark_table.console, "width", 300)
    monkeypatch.chdir(tmp_path)

    def grade(tree: Path, build: Path, made: Any) -> dict[str, Any]:
        assert (tree / GELU).read_text() == "mine"
        return graded()

    monkeypatch.setattr(hand_in, "grade", grade)
    return folder


def send(folder: Path, name: str) -> Path:
    """A student's archive in the inbox."""
    file = as_zip(folder.parent, {f"x/{GELU}": "mine"})
    return file.rename(folder / f"{name}.zip")


def submit(source: Path, name: str) -> int:
    return cli.run("submission", [f"FROM={source}", f"NAME={name}"])


def records(tmp_path: Path) -> set[str]:
    return set(desk.everybody(tmp_path / "desk" / "two_labs"))


def test_everybody_is_graded_whatever_the_name_says(inbox, tmp_path, capsys):
    for name in NAMES:
        assert submit(send(inbox, name), name) == 0
    assert records(tmp_path) == set(NAMES)
    assert cli.run("marks") == 0
    assert not (tmp_path / "A").exists()
    said = capsys.readouterr().out
    assert "x'; touch A; echo ': 1 files graded" in said and "[red]x: 1" in said
    assert not [one for one in said.splitlines() if one.startswith("lines:")]


def test_a_name_that_is_no_text_is_one_student(inbox, tmp_path):
    name = os.fsdecode(b"jos\xe9")
    assert submit(send(inbox, name), name) == 0
    assert records(tmp_path) == {"jos\\xe9"}
    assert cli.run("marks") == 0


def test_a_folder_that_a_platform_made_may_hold_the_archive(inbox, tmp_path):
    folder = inbox / "Alice_1_file"
    folder.mkdir()
    send(folder, "labs")
    assert submit(folder, "Alice") == 0 and records(tmp_path) == {"Alice"}


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ({"FROM": ""}, "name the submission and the student"),
        ({"NAME": ""}, "name the submission and the student"),
        ({"FROM": "none"}, "cannot be read as a folder"),
        ({"FROM": "course.toml"}, "cannot be read as a folder"),
        ({"WHEN": "0001-01-01T00:00:00"}, "WHEN= is '0001-01-01T00:00:00', expected"),
        ({"WHEN": "soon"}, "WHEN= is 'soon', expected a date"),
    ],
)
def test_an_order_that_makes_no_sense_is_refused(inbox, monkeypatch, place, says):
    monkeypatch.setenv("FROM", str(send(inbox, "alice")))
    monkeypatch.setenv("NAME", "alice")
    for name, value in place.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(GraderError, match=says):
        cli.run("submission")


def test_one_student_of_any_name_is_graded_or_refused(inbox, capsys):
    assert submit(send(inbox, "it's $(touch A)"), "n" * 300) == 0
    with pytest.raises(GraderError, match="cannot be read as a folder"):
        submit(Path("n" * 300), "bob\nby")
    assert cli.run("marks") == 0
    assert "bob by" in capsys.readouterr().out


def test_a_part_alone_is_graded_and_its_page_lies_apart(inbox, tmp_path, monkeypatch):
    asked = []
    whole = hand_in.grade

    def grade(tree: Path, build: Path, made: Any) -> dict[str, Any]:
        asked.append(list(made.offers))
        put(build / "grade" / "report.html", "<title>convlab")
        return whole(tree, build, made)

    monkeypatch.setattr(hand_in, "grade", grade)
    monkeypatch.setenv("PART", "week_1")
    monkeypatch.setenv("WHEN", "2026-11-20T10:00:00")
    assert submit(send(inbox, "alice"), "alice") == 0
    assert asked == [["01_python_function/add", "02_naive_c/gelu"]]
    folder = tmp_path / "desk" / "two_labs"
    assert (folder / "records" / "week_1" / "alice.html").is_file()
    (record,) = desk.everybody(folder).values()
    (when,) = record.handed_in.values()  # of gelu: add was not written
    assert when and when.isoformat() == "2026-11-20T09:00:00+00:00"
