# SPDX-License-Identifier: MIT
"""`make submission ALL=1`: a folder of archives, each called after its student. A name
is data: whatever it says, nothing of it runs. The grading itself is made up here.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from grader.commands import cli, submission
from grader.engine.marks import desk, hand_in
from grader.errors import GraderError
from grader.handout import course_trees
from grader.report import mark_table
from tests import put
from tests.grader.commands.test_handed_in import GELU, as_tar, as_zip
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
    monkeypatch.setenv("FROM", str(folder))
    monkeypatch.setenv("ALL", "1")
    for name in ("NAME", "WHEN", "PART", "TO"):
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


def send(folder: Path, name: str, pack: Callable[..., Path] = as_zip) -> Path:
    """A student's archive in the inbox."""
    file = pack(folder.parent, {f"x/{GELU}": "mine"})
    return file.rename(folder / f"{name}{file.name.removeprefix('alice')}")


def records(tmp_path: Path) -> set[str]:
    return set(desk.everybody(tmp_path / "desk" / "two_labs"))


def test_everybody_is_graded_whatever_the_name_says(inbox, tmp_path, capsys):
    for name in NAMES:
        send(inbox, name)
    assert cli.run("submission") == 0
    assert records(tmp_path) == set(NAMES)
    assert cli.run("marks") == 0
    assert not (tmp_path / "A").exists()
    said = capsys.readouterr().out
    assert f"{len(NAMES)} of {len(NAMES)} students were graded" in said
    assert "x'; touch A; echo ': 95 of 95 points\n" in said and "[red]x: 95" in said
    assert not [one for one in said.splitlines() if one.startswith("lines:")]


def test_a_name_that_is_no_text_is_one_student(inbox, tmp_path):
    made = send(inbox, "alice")
    made.rename(os.fsdecode(os.fsencode(made.parent) + b"/jos\xe9.zip"))
    assert cli.run("submission") == 0 and records(tmp_path) == {"jos\\xe9"}
    assert cli.run("marks") == 0


def test_one_who_cannot_be_graded_costs_nobody_else(inbox, tmp_path, capsys):
    send(inbox, "alice")
    (inbox / "bob.rar").write_bytes(b"Rar!\x1a\x07\x00")
    put(inbox / "carol.zip", "no zip")
    send(inbox, "dave", as_tar)
    send(inbox, "dave")
    put(inbox / "eve.txt", "I was ill")
    put(inbox / "frank" / GELU, "mine")
    put(inbox / ".DS_Store")
    assert cli.run("submission") == submission.SOME_MISSING
    assert records(tmp_path) == {"alice", "frank"}
    said = capsys.readouterr().out
    left = said[said.index("2 of 6 students were graded") :].splitlines()[1:]
    assert [line.split(": ")[1] for line in left] == [
        "bob",
        "carol",
        "dave",
        "eve.txt",
    ]
    assert "it is a RAR archive" in left[0] and "dave.tar.gz, dave.zip" in left[2]
    assert cli.run("marks") == 0
    table = capsys.readouterr().out
    for line in left:
        assert line.partition("not graded: ")[2].partition(": ")[2] in table


def test_a_name_in_two_spellings_is_one_student_with_two_archives(
    inbox, tmp_path, capsys
):
    for form in ("NFC", "NFD"):
        send(inbox, unicodedata.normalize(form, "José"))
    assert cli.run("submission") == submission.SOME_MISSING
    assert "José: several submissions have this name" in capsys.readouterr().out


def test_a_folder_that_a_platform_made_may_hold_the_archive(inbox, tmp_path):
    send(inbox, "labs", as_tar).rename(
        put(inbox / "Alice_1_file" / "x").parent / "labs.tar.gz"
    )
    (inbox / "Alice_1_file" / "x").unlink()
    assert cli.run("submission") == 0 and records(tmp_path) == {"Alice_1_file"}


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ({"FROM": ""}, "ALL=1 grades a whole folder of archives"),
        ({"NAME": "alice"}, "Leave NAME= out"),
        ({"FROM": "none"}, "expected a folder with an archive"),
        ({"FROM": "course.toml"}, "expected a folder with an archive"),
        ({"FROM": "n" * 300}, "expected a folder with an archive"),
        ({}, "this folder is empty"),
        ({"WHEN": "0001-01-01T00:00:00"}, "WHEN= is '0001-01-01T00:00:00', expected"),
        ({"WHEN": "soon"}, "WHEN= is 'soon', expected a date"),
    ],
)
def test_an_order_that_makes_no_sense_is_refused(inbox, monkeypatch, place, says):
    for name, value in place.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(GraderError, match=says):
        cli.run("submission")


def test_one_student_of_any_name_is_graded_or_refused(inbox, monkeypatch, capsys):
    monkeypatch.delenv("ALL")
    monkeypatch.setenv("FROM", str(send(inbox, "it's $(touch A)")))
    monkeypatch.setenv("NAME", "n" * 300)
    assert cli.run("submission") == 0
    monkeypatch.setenv("FROM", "n" * 300)
    monkeypatch.setenv("NAME", "bob\nby")
    with pytest.raises(GraderError, match="cannot be read as a folder"):
        cli.run("submission")
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
    send(inbox, "alice")
    assert cli.run("submission") == 0
    assert asked == [["01_python_function/add", "02_naive_c/gelu"]]
    folder = tmp_path / "desk" / "two_labs"
    assert (folder / "records" / "week_1" / "alice.html").is_file()
    (record,) = desk.everybody(folder).values()
    (when,) = record.handed_in.values()  # of gelu: add was not written
    assert when and when.isoformat() == "2026-11-20T09:00:00+00:00"
