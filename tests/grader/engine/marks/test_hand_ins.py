# SPDX-License-Identifier: MIT
"""When something was handed in, by whom, and what could not be graded."""

from __future__ import annotations

import unicodedata
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from grader.commands import cli
from grader.engine.marks import desk
from grader.engine.marks.people import Person
from grader.engine.marks.total import NO_REASON, total
from grader.errors import GraderError
from grader.report import mark_table
from tests import put
from tests.grader.course.offered import read
from tests.grader.engine import results
from tests.grader.engine.marks.test_marks import OF, at_desk, hand_in, mark

__all__ = ["at_desk"]  # a fixture
FIRST, SECOND = list(OF)[:2], list(OF)[2:]  # the tasks of the two weeks
IN_TIME, TOO_LATE = "2026-11-07T10:00:00+01:00", "2026-12-24T10:00:00+01:00"
JOSE = "José"
DECOMPOSED = unicodedata.normalize("NFD", JOSE)


def files(*, first: str = "a", second: str = "b") -> desk.Written:
    """What a student wrote, each week's with these contents."""
    return {
        **{task: {f"labs/{task}/00.c": first} for task in FIRST if first},
        **{task: {f"labs/{task}/00.c": second} for task in SECOND if second},
    }


def remarks(folder: Path, student: str, text: str = "") -> str:
    """The last cell of a student's row."""
    return mark_table._remarks(mark(folder, student, text))


# ---- late or not ---------------------------------------------------------------------


def test_without_a_time_nothing_is_late_and_the_table_says_so(tmp_path):
    hand_in(tmp_path, "alice", "")
    found = mark(tmp_path)
    assert found.late == {"week_1": 0, "week_2": 0} and found.points == 95
    said = remarks(tmp_path, "alice")
    assert (
        "week_1: graded without WHEN=, so it is not late; week_2: graded without WHEN="
        in said
    )
    assert "WHEN" not in remarks(tmp_path, "alice", "alice.late_days = 1")
    hand_in(tmp_path, "bob", IN_TIME)
    assert "WHEN" not in remarks(tmp_path, "bob")


def test_a_file_keeps_the_time_of_the_hand_in_that_brought_it(tmp_path):
    hand_in(tmp_path, "alice", IN_TIME, written=files(second=""))
    hand_in(tmp_path, "alice", TOO_LATE, written=files(second="b"))
    found = mark(tmp_path)
    assert found.late == {"week_1": 0, "week_2": 39}
    hand_in(tmp_path, "alice", TOO_LATE, written=files(first="changed"))
    assert mark(tmp_path).late["week_1"] > 39


def test_a_task_that_nobody_wrote_is_not_late(tmp_path):
    hand_in(tmp_path, "alice", "2026-11-16T10:00:00+01:00", written=files(first=""))
    assert mark(tmp_path).late == {"week_1": 0, "week_2": 0}  # the free day is left


@pytest.mark.parametrize(
    ("times", "late"),
    [
        ([TOO_LATE, IN_TIME], 0),  # in another order
        ([IN_TIME, ""], 0),
        (["", IN_TIME], 0),
        (["", TOO_LATE], 47),  # the same files again: the time was forgotten
    ],
)
def test_the_same_files_once_more_have_the_earliest_time(tmp_path, times, late):
    for when in times:
        hand_in(tmp_path, "alice", when)
    found = mark(tmp_path)
    assert found.late["week_1"] == late and not found.untimed


def test_a_time_that_nobody_knew_stays_unknown_beside_new_work(tmp_path):
    hand_in(tmp_path, "alice", "", written=files(second=""))
    hand_in(tmp_path, "alice", TOO_LATE, written=files())
    found = mark(tmp_path)
    assert found.late["week_1"] == 0 and found.untimed == ("week_1",)


def test_a_part_that_is_graded_alone_leaves_the_times_of_others(tmp_path):
    hand_in(tmp_path, "alice", IN_TIME, tasks=FIRST)
    hand_in(tmp_path, "alice", TOO_LATE, tasks=SECOND)
    record = desk.everybody(tmp_path)["alice"]
    assert {record.handed_in[task] for task in FIRST} == {
        datetime.fromisoformat(IN_TIME)
    }
    assert mark(tmp_path).late == {"week_1": 0, "week_2": 39}


def test_a_record_from_before_files_were_kept_is_read(tmp_path):
    file = hand_in(tmp_path, "alice", TOO_LATE)
    text = file.read_text().replace('"files"', '"other"').replace('"left"', '"more"')
    file.write_text(text)
    hand_in(tmp_path, "alice", TOO_LATE, tasks=SECOND)
    assert mark(tmp_path).late == {"week_1": 47, "week_2": 39}


# ---- who, and what a person should look at -------------------------------------------


def test_a_name_in_two_spellings_is_one_student(tmp_path):
    assert JOSE != DECOMPOSED
    first = hand_in(tmp_path, DECOMPOSED, IN_TIME, tasks=FIRST)
    second = hand_in(tmp_path, JOSE, IN_TIME, tasks=SECOND)
    assert first == second and list(desk.everybody(tmp_path)) == [JOSE]
    by_hand = f'["{DECOMPOSED}"]\nwritten.q1.points = 4'
    assert mark(tmp_path, JOSE, by_hand).points == 95 + 4
    with pytest.raises(GraderError, match=r"people.toml:3: .*in two spellings"):
        mark(tmp_path, JOSE, f'["{DECOMPOSED}"]\nname = "x"\n["{JOSE}"]\nname = "x"')


def test_a_name_of_any_length_has_a_file(tmp_path):
    names = ["x" * 300, "x" * 299 + "y", "ü" * 250]
    written = {hand_in(tmp_path, name, IN_TIME) for name in names}
    assert len(written) == 3 and set(desk.everybody(tmp_path)) == set(names)


def test_points_beyond_those_of_a_question_are_refused(tmp_path):
    with pytest.raises(GraderError, match=r"expected points from 0 to 5, got 7"):
        mark(tmp_path, text="[alice]\nwritten.q1.points = 7")


def test_what_is_forbidden_or_suspect_stands_in_the_remarks(tmp_path):
    name = "02_naive_c/gelu"
    wrong = [
        results.check("forward", "forward", "FORBIDDEN"),
        results.check("forward", "forward", "SUSPECT"),
        results.check("forward", "forward", "SUSPECT"),
    ]
    rung = {**results.rung(name, 0), "checks": wrong}
    whole = results.whole([results.task(name, [rung], points=0, of=20)])
    hand_in(tmp_path, "alice", IN_TIME, results=whole)
    said = remarks(tmp_path, "alice")
    assert f"FORBIDDEN {rung['id']}; SUSPECT {rung['id']}; missing" in said
    given = f'alice.tasks."{name}".points = 3'  # a person has looked at it
    assert "FORBIDDEN" not in remarks(tmp_path, "alice", given)


def test_files_that_do_not_count_are_kept_and_counted(tmp_path):
    hand_in(tmp_path, "alice", IN_TIME, left={"labs/x (1).c": "its name"})
    assert desk.everybody(tmp_path)["alice"].left == {"labs/x (1).c": "its name"}
    assert remarks(tmp_path, "alice").endswith("files that do not count: 1")


def test_who_could_not_be_graded_stands_in_the_table_with_the_reason(
    at_desk, monkeypatch, capsys
):
    monkeypatch.setattr(mark_table.console, "width", 200)
    monkeypatch.setenv("TO", "moodle")
    desk.refuse(at_desk, "zoe", "zoe.rar cannot be read", list(OF))
    assert cli.run("marks") == 0
    (row,) = [r for r in capsys.readouterr().out.splitlines() if r.startswith("zoe")]
    assert "not graded: zoe.rar cannot be read; missing" in row
    book = (at_desk / "exports" / "moodle.csv").read_text()
    assert book.count(NO_REASON) == 2 and "zoe.rar" not in book  # the course hides
    zoe = total("zoe", Person(), None, read(at_desk), "zoe.rar cannot be read")
    assert zoe.comments("week_1", hides=False).startswith("not graded: zoe.rar")


def test_a_refusal_stays_until_its_tasks_are_graded(tmp_path):
    desk.refuse(tmp_path, "alice", "broken", SECOND)
    hand_in(tmp_path, "alice", IN_TIME, tasks=FIRST)
    assert desk.refused(tmp_path) == {"alice": "broken"}
    hand_in(tmp_path, "alice", IN_TIME, tasks=SECOND[:1])
    hand_in(tmp_path, "alice", IN_TIME, tasks=SECOND[1:])
    assert not desk.refused(tmp_path)
    put(desk.file_of(tmp_path, "bob", "refused"), "[]")
    with pytest.raises(GraderError, match=r"cannot be read.*delete it"):
        desk.refused(tmp_path)


# ---- the course's clock --------------------------------------------------------------


def test_a_moment_without_an_offset_is_by_the_courses_clock(tmp_path):
    summer = datetime(2026, 7, 1, 12)
    assert read(tmp_path).moment(summer).utcoffset() == timedelta(hours=1)
    text = (tmp_path / "course.toml").read_text()
    made = read(tmp_path, f'time_zone = "Europe/Berlin"\n{text}')
    assert made.moment(summer).utcoffset() == timedelta(hours=2)
    for wrong in ('"Berlin"', '"../etc/passwd"', '"/etc/passwd"', "3", '"x\\u0000"'):
        with pytest.raises(GraderError, match=r"course.toml:1: time_zone: expected a"):
            read(tmp_path, f"time_zone = {wrong}\n{text}")
