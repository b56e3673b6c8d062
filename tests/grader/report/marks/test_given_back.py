# SPDX-License-Identifier: MIT
"""What students get back, and what the instructor sees of the class.

The rule for Moodle's folders is that of mod/assign/feedback/file/importziplib.php:
four words between underscores, the second one a participant's number.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from pathlib import Path

import pytest

from grader.commands import cli
from grader.engine.marks import class_numbers, desk
from grader.engine.marks.people import Person
from grader.engine.marks.total import Item, Total
from grader.errors import GraderError
from grader.handout import course_trees
from grader.report.exports import moodle_files
from tests import put
from tests.grader.course.offered import TEXT, read
from tests.grader.report.marks import made_class

SECRET = re.compile(r"hidden_|730417|918273|expected 2|379|CASE=|labs/x")
OPEN = TEXT.partition("[hidden]")[0]


@pytest.fixture
def at_desk(tmp_path, monkeypatch) -> Path:
    """The folder of a course with a made-up class."""
    monkeypatch.setattr(course_trees, "_try_hidden", lambda made: None)
    monkeypatch.setenv("COURSE", str(put(tmp_path / "course.toml", TEXT)))
    monkeypatch.setenv("DESK", str(tmp_path))
    folder = tmp_path / "two_labs"
    made_class.on_desk(folder, read(tmp_path))
    return folder


def exported(at_desk: Path, monkeypatch: pytest.MonkeyPatch, kinds: str) -> Path:
    monkeypatch.setenv("TO", kinds)
    assert cli.run("marks") == 0
    return at_desk / "exports"


def imported(name: str, participants: dict[int, str]) -> tuple[str, str] | None:
    """The participant and the file's name, as Moodle's reader finds them in a path."""
    parts = name.split("/")
    while parts:
        info = parts.pop(0).split("_", 4)
        if len(info) < 4 or not info[1].isdecimal():
            continue
        if int(info[1]) in participants and info[2:4] == ["assignsubmission", "file"]:
            rest = [*info[4:], *parts]
            return participants[int(info[1])], "/".join(rest).lstrip("/")
    return None


# ---- pages of students ---------------------------------------------------------------


def test_each_student_gets_a_page_with_points_verdicts_and_comments(
    at_desk, monkeypatch
):
    pages = exported(at_desk, monkeypatch, "pages") / "pages"
    assert {f.stem for f in pages.iterdir()} == {*made_class.NAMES, "Zoe"}
    alice = (pages / "Alice.html").read_text()
    for words in ("Alice Example", "12 / 20", "The idea is right.", "Two labs"):
        assert words in alice
    assert "A clear improvement" in alice and "A person gave these points" in alice
    assert "not decided yet" in alice and "Only tanh is wrong." in alice
    assert "2 late days: 80 %" in (pages / "Ada.html").read_text()
    zoe = (pages / "Zoe.html").read_text()
    assert "could not be graded" in zoe and "zoe.rar" not in zoe


def test_a_page_to_give_back_has_nothing_hidden_and_no_word_of_a_process(
    at_desk, monkeypatch, tmp_path
):
    pages = exported(at_desk, monkeypatch, "pages") / "pages"
    made = read(tmp_path)
    course_trees.search([pages], made)
    texts = [file.read_text() for file in pages.iterdir()]
    for text in texts:
        assert not SECRET.search(text) and str(tmp_path) not in text
    assert sum("an output is wrong; it looks like the mistake" in t for t in texts) > 5


def test_the_search_for_hidden_words_sees_them(at_desk, monkeypatch, tmp_path):
    """The test above could fail: an open course tells them."""
    put(tmp_path / "course.toml", OPEN)
    with monkeypatch.context() as context:
        context.setattr(course_trees, "given_away", lambda text, made: "")
        pages = exported(at_desk, context, "pages") / "pages"
    assert SECRET.search((pages / "Ada.html").read_text())
    with pytest.raises(GraderError, match="hidden"):
        course_trees.search([pages], read(tmp_path))


def test_a_comment_with_a_hidden_word_is_refused(at_desk, monkeypatch):
    put(at_desk / desk.PEOPLE, 'Ada.comment = "look at hidden_nine"')
    monkeypatch.setenv("TO", "pages")
    with pytest.raises(
        GraderError, match="page of Ada would give away the hidden case"
    ):
        cli.run("marks")


def test_a_students_name_on_the_board_is_no_name_of_theirs(at_desk, monkeypatch):
    folder = exported(at_desk, monkeypatch, "pages,class")
    board = (folder / "board.html").read_text()
    assert not [name for name in made_class.NAMES if name in board]
    first = re.search(r">([a-z]+ [0-9a-f]{6})</text>", board)
    assert first
    having = [f for f in (folder / "pages").iterdir() if first[1] in f.read_text()]
    assert len(having) == 1


# ---- Moodle --------------------------------------------------------------------------


def test_moodle_gets_a_page_in_the_folder_that_it_knows(
    at_desk, monkeypatch, tmp_path, capsys
):
    names = {
        101: "Alice Example_101_assignsubmission_file_",
        102: "Bob_102_assignsubmission_file",  # since Moodle 4.1
        103: "Ann Other_103_assignsubmission_file_",  # is in no record
    }
    download = tmp_path / "moodle.zip"
    with zipfile.ZipFile(download, "w") as archive:
        for folder in names.values():
            archive.writestr(f"{folder}/labs.zip", b"x")
    monkeypatch.setenv("DOWNLOAD", str(download))
    made = exported(at_desk, monkeypatch, "moodle-feedback") / "moodle-feedback.zip"
    who = {number: name.partition("_")[0] for number, name in names.items()}
    with zipfile.ZipFile(made) as archive:
        found = {imported(name, who): archive.read(name) for name in archive.namelist()}
    assert set(found) == {("Alice Example", "feedback.html"), ("Bob", "feedback.html")}
    assert b"Alice Example" in found["Alice Example", "feedback.html"]
    said = capsys.readouterr().out
    assert "moodle-feedback does not know these students: Ada, Alan, Barbara" in said
    course_trees.search([made], read(tmp_path))


def test_two_students_of_one_name_get_no_page_of_the_other():
    names = "A B_1_assignsubmission_file_", "A B_2_assignsubmission_file_"
    found = moodle_files.folders([*names, "C_3_assignsubmission_onlinetext_", "x"])
    assert found == {name: name for name in names} | dict(zip("12", names))


# ---- the class -----------------------------------------------------------------------


def test_the_report_about_the_class_names_what_needs_a_person(at_desk, monkeypatch):
    folder = exported(at_desk, monkeypatch, "class")
    text = (folder / "class.html").read_text()
    needs = text[text.index('id="needs"') : text.index('id="regrades"')]
    assert "zoe.rar is a RAR archive" in needs
    assert "SUSPECT" in needs and "NOISY" in needs and "WRONG_VALUE" not in needs
    regrades = text[text.index('id="regrades"') : text.index('id="marks"')]
    assert "Only tanh is wrong." in regrades and "12 points" in regrades
    mistakes = text[text.index('id="mistakes"') : text.index('id="board"')]
    counts = [int(n) for n in re.findall(r'<td class="num">(\d+)<', mistakes)]
    assert len(counts) == 4 and counts == sorted(counts, reverse=True)
    rows = list(csv.DictReader(io.StringIO((folder / "class.csv").read_text())))
    assert [row["task"] for row in rows][:3] == [*list(read(at_desk).offers)[:2], "q1"]
    for row in rows:
        assert sum(int(row[name]) for name in class_numbers.BINS) == 25
        assert -1 <= float(row["correlation"]) <= 1


def test_an_item_is_compared_with_the_rest_of_the_points():
    """Worked out by hand: a is 1, 2, 3, 4 and the rest is 2, 1, 4, 3."""
    points = [(1, 2), (2, 1), (3, 4), (4, 3)]
    totals = [
        Total(
            str(points),
            Person(),
            tuple(Item("w", name, p, 4) for name, p in zip("ab", pair)),
            {},
            {},
        )
        for pair in points
    ]
    first, second = class_numbers.tasks(totals)
    assert first.rest == (2, 1, 4, 3)
    assert first.correlation == pytest.approx(0.6) == second.correlation
    assert first.bins == [0, 1, 1, 1, 0, 1] and first.full == 1
    assert class_numbers.tasks(totals[:2])[0].correlation is None
    assert class_numbers.tenths(totals, 8) == [0, 0, 0, 2, 0, 0, 0, 0, 2, 0]
