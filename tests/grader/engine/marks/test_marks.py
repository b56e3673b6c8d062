# SPDX-License-Identifier: MIT
"""Marks: late days, points by hand, regrades, and the gradebooks that read them.

Canvas knows a gradebook's file by five columns and the row "Points Possible" (its guide
"How do I import grades in the Gradebook?"); Moodle maps columns by hand
(docs.moodle.org, "Grade import").
"""

from __future__ import annotations

import csv
import io
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from grader.commands import cli
from grader.engine.marks import desk
from grader.engine.marks.people import Person, people
from grader.engine.marks.total import Total, total
from grader.errors import GraderError
from grader.handout import course_trees
from grader.report import mark_table
from grader.report.exports import gradebook
from tests import put
from tests.grader.course.offered import TEXT, read
from tests.grader.engine import results

OF = {
    "01_python_function/add": 10,
    "02_naive_c/gelu": 20,
    "02_naive_c/matmul": 30,
    "02_naive_c/add": 35,
}
NAMES = ("=cmd|' /C calc'!A0", "@SUM(1)", "-2+3", "+1", "\t=1", " =1", "<b>x</b>\r\n=1")


def graded(share: float = 1.0, **of: float) -> dict[str, Any]:
    """Results of a submission that has a share of all points."""
    entries = [
        results.task(name, [results.rung(name, 0)], points=worth * share, of=worth)
        for name, worth in {**OF, **of}.items()
    ]
    return results.whole(entries)


def hand_in(folder: Path, student: str, when: str, share: float = 1.0, **more: Any):
    """A graded submission on the desk."""
    made = more.get("made") or read(folder)
    tasks = more.get("tasks", list(OF))
    written = {task: {f"labs/{task}/00.c": "a hash"} for task in tasks}
    return desk.keep(
        folder,
        student,
        more.get("results", graded(share)),
        when=datetime.fromisoformat(when) if when else None,
        written=more.get("written", written),
        left=more.get("left"),
        tasks=tasks,
        made=made,
    )


def mark(folder: Path, student: str = "alice", text: str = "") -> Total:
    """A student's mark; `text`: the file of people."""
    made = read(folder)
    persons = people(put(folder / "people.toml", text), made)
    found = desk.everybody(folder).get(student)
    return total(student, persons.get(student, Person()), found, made)


# ---- the late rule -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("when", "points"),
    [
        ("2026-11-08T09:00:00+01:00", 30),  # at the deadline
        ("2026-11-08T09:01:00+01:00", 30),  # a begun day: the free one
        ("2026-11-09T09:01:00+01:00", 27),  # two days, one of them free
        ("2026-11-12T09:00:00+01:00", 21),  # four, three count
        ("2026-11-12T09:01:00+01:00", 0),  # four count: one too many
        ("2026-11-08T08:30:00+00:00", 30),  # another offset: 09:30
    ],
)
def test_a_begun_day_late_costs_what_the_course_says(tmp_path, when, points):
    first = list(OF)[:2]
    hand_in(tmp_path, "alice", when, tasks=first)
    assert mark(tmp_path).of_part("week_1") == points


def test_free_days_are_spent_once_in_the_whole_course(tmp_path):
    hand_in(tmp_path, "alice", "2026-11-08T10:00:00+01:00", tasks=list(OF)[:2])
    hand_in(tmp_path, "alice", "2026-11-16T10:00:00+01:00", tasks=list(OF)[2:])
    found = mark(tmp_path)
    assert found.late == {"week_1": 0, "week_2": 1}
    assert (found.of_part("week_1"), found.of_part("week_2")) == (30, 58.5)


def test_a_person_may_be_given_days(tmp_path):
    hand_in(tmp_path, "alice", "2026-11-18T10:00:00+01:00")
    found = mark(
        tmp_path
    )  # 11 days late, which counts nothing, and 3, one of them free
    assert found.late == {"week_1": 11, "week_2": 2} and found.points == 0.8 * 65
    more = mark(tmp_path, text="alice.extension_days = 10")
    assert more.late == {"week_1": 0, "week_2": 0} and more.points == 95
    fixed = mark(tmp_path, text="alice.late_days = 2")
    assert fixed.late == {"week_1": 2, "week_2": 2} and fixed.points == 76
    assert mark(tmp_path, text="alice.late_days = 0").points == 95


def test_what_being_late_cost_is_told_in_numbers(tmp_path, at_desk, monkeypatch):
    made = read(tmp_path)
    hand_in(at_desk, "eve", "2026-11-18T10:00:00+01:00", made=made)
    monkeypatch.setenv("TO", "moodle")
    assert cli.run("marks") == 0
    book = (at_desk / "exports" / "moodle.csv").read_text()
    assert "11 late days: 0 % of the graded points count" in book
    assert "2 late days: 80 % of the graded points count" in book
    late = total("eve", Person(late_days=1), desk.everybody(at_desk)["eve"], made)
    assert late.lateness("week_2").startswith("1 late day: 90 %")


def test_without_a_late_rule_lateness_costs_nothing(tmp_path):
    hand_in(tmp_path, "alice", "2027-11-18T10:00:00+01:00")
    head, _, tail = TEXT.partition("[late]")
    text = head + "[solutions]" + tail.partition("[solutions]")[2]
    made = read(tmp_path, text)
    record = desk.everybody(tmp_path)["alice"]
    assert total("alice", Person(), record, made).points == 95


# ---- by hand -------------------------------------------------------------------------

BY_HAND = """
[alice]
name = "Alice Example"
comment = "see me"
tasks."02_naive_c/gelu" = { points = 12, comment = "reads well" }
written.q1 = { points = 4 }
"""


def test_points_by_hand_survive_a_regrading(tmp_path):
    hand_in(tmp_path, "alice", "2026-11-01T10:00:00+01:00", share=0.5)
    first = mark(tmp_path, text=BY_HAND)
    assert first.points == (10 + 30 + 35) / 2 + 12 + 4
    hand_in(tmp_path, "alice", "2026-11-01T10:00:00+01:00", share=1)
    again = mark(tmp_path, text=BY_HAND)
    assert again.points == 75 + 12 + 4
    assert again.comments("week_1", hides=True) == (
        "see me; 01_python_function/add 10 of 10; "
        "02_naive_c/gelu 12 of 20: reads well; q1 4 of 5"
    )
    assert (tmp_path / "people.toml").read_text() == BY_HAND


def test_points_by_hand_are_not_cut_for_lateness(tmp_path):
    hand_in(tmp_path, "alice", "2026-12-24T10:00:00+01:00")
    assert mark(tmp_path, text=BY_HAND).points == 12 + 4


def test_other_points_in_the_course_count_without_a_regrading(tmp_path):
    hand_in(tmp_path, "alice", "2026-11-01T10:00:00+01:00", share=0.5)
    made = read(tmp_path, TEXT.replace("{ points = 35 }", "{ points = 70 }"))
    record = desk.everybody(tmp_path)["alice"]
    assert total("alice", Person(), record, made).of_part("week_2") == 15 + 35


def test_a_part_that_is_graded_alone_leaves_the_others(tmp_path):
    hand_in(tmp_path, "alice", "2026-11-01T10:00:00+01:00", share=1)
    hand_in(tmp_path, "alice", "2026-11-09T10:00:00+01:00", 0, tasks=list(OF)[2:])
    found = mark(tmp_path)
    assert (found.of_part("week_1"), found.of_part("week_2")) == (30, 0)
    record = json.loads(desk.file_of(tmp_path, "alice").read_text())
    assert record["results"]["points"] == 30 and record["results"]["of"] == 95


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[alice]\nnome = 'A'", r"people.toml:2: alice.nome: .*did you mean 'name'"),
        ("[alice]\n\nwritten.q2.points = 1", r":3: .*a question of the course"),
        ('[alice]\ntasks."02_naive_c/gelo" = 3', r":2: .*near it: 02_naive_c/gelu"),
        ('[alice]\ntasks."02_naive_c/gelu" = 3', r":2: .*expected a table, got 3"),
        ("[alice]\nlate_days = -1", r":2: alice.late_days: expected days from 0"),
        ("[alice]\nlate_days = 1\nlate_days = 2", r":3: expected TOML"),
    ],
)
def test_a_wrong_word_about_a_person_is_named_with_its_line(tmp_path, text, says):
    with pytest.raises(GraderError, match=says):
        mark(tmp_path, text=text)


def test_a_record_that_cannot_be_read_says_what_to_do(tmp_path):
    put(desk.file_of(tmp_path, "alice"), '{"student": "alice"}')
    with pytest.raises(
        GraderError, match="move this file away, then grade the submission"
    ):
        desk.everybody(tmp_path)


def test_a_record_of_another_version_is_told_and_not_guessed_at(tmp_path):
    file = hand_in(tmp_path, "alice", "2026-11-01T10:00:00+01:00")
    record = json.loads(file.read_text())
    for change, says in (
        ({"schema": 0}, "schema is 0, expected 1"),
        ({"tasks": [{"id": "02_naive_c/gelu", "points": 3}]}, "is missing"),
        ({"tasks": 7}, "tasks is 7, expected array"),
    ):
        put(file, json.dumps({**record, "results": {**record["results"], **change}}))
        with pytest.raises(GraderError, match=says):
            desk.everybody(tmp_path)
    put(file, "[]")
    with pytest.raises(GraderError, match="move this file away"):
        desk.everybody(tmp_path)


@pytest.mark.parametrize(
    "name", ["../../etc/x", "a/b", "=c", ".", "..", "x\ny", "ü", "a b@c.de"]
)
def test_a_students_name_leads_out_of_no_folder(tmp_path, name):
    file = hand_in(tmp_path, name, "2026-11-01T10:00:00+01:00")
    assert file.resolve().parent == (tmp_path / "records").resolve()
    assert list(desk.everybody(tmp_path)) == [name]
    exports = tmp_path / "exports"  # as marks.py names the folder of a student's files
    assert (exports / file.stem).resolve().parent == exports.resolve()


# ---- gradebooks ----------------------------------------------------------------------


def totals(folder: Path) -> list[Total]:
    """People with nasty names."""
    made, found = read(folder), []
    for name in NAMES:
        who = Person(name=name, id=name, email=name, login=name, comment=name)
        found.append(total(name, who, None, made))
    return found


@pytest.mark.parametrize("book", [gradebook.canvas, gradebook.moodle])
def test_no_cell_of_a_gradebook_is_a_formula_or_has_two_lines(tmp_path, book):
    made = read(tmp_path, TEXT.replace('"Two labs"', '"=1+1"'))
    text = book(totals(tmp_path), made)
    rows = list(csv.reader(io.StringIO(text)))
    assert len({len(row) for row in rows}) == 1 and len(rows) >= len(NAMES) + 1
    for cell in (cell for row in rows for cell in row):
        assert not cell.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r")), cell
        assert "\n" not in cell and "\r" not in cell
    assert text.count("\r\n") == text.count("\n") == len(rows)


def test_canvas_finds_its_columns_and_points_possible(tmp_path):
    hand_in(tmp_path, "alice", "2026-11-01T10:00:00+01:00")
    found = mark(
        tmp_path, text="alice = { name = 'Ex, Alice', id = '007', login = 'a' }"
    )
    rows = list(csv.reader(io.StringIO(gradebook.canvas([found], read(tmp_path)))))
    assert rows[0][:5] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    assert rows[0][5:] == ["Two labs: One", "Two labs: Two"]
    assert rows[1] == ["    Points Possible", "", "", "", "", "35", "65"]
    assert rows[2] == ["Ex, Alice", "", "007", "a", "", "30", "65"]


def test_moodle_has_points_and_feedback_of_each_part(tmp_path):
    hand_in(tmp_path, "alice", "2026-11-01T10:00:00+01:00")
    found = mark(tmp_path, text=BY_HAND)
    text = gradebook.moodle([found], read(tmp_path))
    (row,) = csv.DictReader(io.StringIO(text))
    assert row["Full name"] == "Alice Example" and row["Two labs: One"] == "26"
    assert "gelu 12 of 20: reads well; q1 4 of 5" in row["Two labs: One (feedback)"]


# ---- the command ---------------------------------------------------------------------


@pytest.fixture
def at_desk(tmp_path, monkeypatch) -> Path:
    """A desk with a course and two students."""
    monkeypatch.setenv("COURSE", str(put(tmp_path / "course.toml", TEXT)))
    monkeypatch.setenv("DESK", str(tmp_path))
    monkeypatch.setattr(course_trees, "_try_hidden", lambda made: None)
    folder = tmp_path / "two_labs"
    made = read(tmp_path)
    hand_in(folder, "alice", "2026-11-01T10:00:00+01:00", made=made)
    hand_in(folder, "=bob", "2026-11-01T10:00:00+01:00", 0.5, made=made)
    put(folder / "people.toml", f'{BY_HAND}\n["[red]eve"]\nname = "x"\n')
    return folder


def test_marks_are_shown_and_exported_with_what_was_decided(
    at_desk, monkeypatch, capsys
):
    monkeypatch.setattr(mark_table.console, "width", 200)
    monkeypatch.setenv("TO", "canvas,moodle")
    assert cli.run("marks") == 0
    said = capsys.readouterr().out
    assert "by hand: 02_naive_c/gelu, q1" in said and "[red]eve" in said
    assert "canvas does not know these students: =bob, [red]eve, alice; write" in said
    folder = at_desk / "exports"
    assert {file.name for file in folder.iterdir()} == {"canvas.csv", "moodle.csv"}
    rows = list(csv.reader((folder / "canvas.csv").read_text().splitlines()))
    assert [row[0] for row in rows[2:]] == ["'=bob", "x", "Alice Example"]
    assert rows[-1][5:] == ["26", "65"]
    book = list(csv.reader((folder / "moodle.csv").read_text().splitlines()))
    shown = "see me; 01_python_function/add 10 of 10; 02_naive_c/gelu 12 of 20: reads "
    assert book[-1][4] == shown + "well; q1 4 of 5"


def test_points_by_hand_below_the_grader_s_are_listed(at_desk, monkeypatch, capsys):
    monkeypatch.setattr(mark_table.console, "width", 200)
    people = """
alice.tasks."02_naive_c/gelu".points = 12
alice.tasks."02_naive_c/add".points = 35
"=bob".tasks."02_naive_c/gelu".points = 12
eve.tasks."02_naive_c/gelu".points = 0
"""
    put(at_desk / "people.toml", people)
    assert cli.run("marks") == 0
    said = [x for x in capsys.readouterr().out.splitlines() if "below" in x]
    assert len(said) == 1 and said[0].startswith("alice")
    assert (
        "below the grader's points: 02_naive_c/gelu (by hand 12, graded 20)" in said[0]
    )


def test_a_platform_that_nobody_knows_is_refused(at_desk, monkeypatch):
    monkeypatch.setenv("TO", "canvas,blackboard")
    with pytest.raises(
        GraderError, match="names 'blackboard', expected canvas, moodle"
    ):
        cli.run("marks")
