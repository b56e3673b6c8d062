# SPDX-License-Identifier: MIT
"""course.toml: what it says is what counts, and a wrong word is named with its line."""

from __future__ import annotations

import contextlib
import math
import re
from datetime import timedelta

import pytest

from grader.course import rungs, tasks
from grader.course.offered import course_file, narrowed
from grader.course.rungs import Task
from grader.course.tasks import all_tasks
from grader.errors import GraderError
from tests import ROOT
from tests.grader.course.offered import TEXT, read

GUIDE = (ROOT / "docs" / "guides" / "instructors.md").read_text()
READY = sorted((ROOT / "docs" / "courses").glob("*.toml"))

WRONG = [  # what is replaced, by what, the line that is named, what the sentence says
    ('name = "two_labs"', 'name = "Two labs"', 1, r"name: expected small letters"),
    ("begins = 2026-11-01T09:00:00+01:00", "begins = 2026-11-01", 3, "offset, got"),
    (
        "hints = 1",
        "hints = 4",
        4,
        "hints: expected hints of a task from 0 to 3, got 4",
    ),
    ("hints = 1", "hintz = 1", 4, "did you mean 'hints'"),
    ("percent_per_day = 10", 'percent_per_day = "10"', 6, 'got "10"; write a plain'),
    ("days = 3", "days = 2.5", 7, r"late.days: expected days without a fraction"),
    (
        "due_days = 7",
        "",
        11,
        r"part.\[0\]: expected either due_days or deadline, got a table of \d+ char",
    ),
    ("deadline = 2026-11-15T", "deadline = 2025-11-15T", 23, "a moment after"),
    ("02_naive_c/gelu", "02_naive_c/gelo", 19, "near it: 02_naive_c/gelu"),
    ('["00_definition"]', '["00_defs"]', 25, "near it: 00_definition"),
    ("{ points = 35 }", "{ points = -1 }", 26, r'"02_naive_c/add".points: expected'),
    ("{ points = 35 }", "{ worth = 35 }", 26, r"expected one of extra, hours, points"),
    ('"02_naive_c/add"', '"02_naive_c/gelu"', 26, "is there twice"),
    (
        "seeds = [730417, ",
        "seeds = [7, ",
        28,
        "6 to 9 digits from 100000 to 999999999,",
    ),
    ("cases.gelu", "cases.gelo", 29, "near it: gelu"),
    ("hidden_nine", "nine", 31, "a name that begins with hidden_"),
    ("[late]", "[late", 5, "expected TOML, but"),
    ('id="q1"', 'id="Q 1"', 16, r"questions.\[0\].id: expected small letters"),
]


HOSTILE = (
    *(
        "nan",
        "inf",
        "-1",
        "1e400",
        "9" * 30,
        "true",
        '""',
        "[]",
        "[[]]",
        "{}",
        '"\\u0000"',
    ),
    *("1979-05-27", "07:32:00", "0001-01-01T00:00:00+14:00", f'"{"a" * 3000}"'),
    *("9999-12-31T23:59:59-14:00", "[" * 3000, "9" * 5000, "0x" + "f" * 5000),
)


@pytest.mark.parametrize("value", HOSTILE)
def test_a_hostile_value_in_any_line_is_a_sentence_or_right(tmp_path, value):
    lines = TEXT.splitlines()
    for number, line in enumerate(lines):
        if key := re.match(r"[\w.]+ *= *", line):
            text = "\n".join([*lines[:number], key[0] + value, *lines[number + 1 :]])
            with contextlib.suppress(GraderError):
                made = read(tmp_path, text)
                course_file.for_grading(made)


@pytest.mark.parametrize(("old", "new", "line", "says"), WRONG)
def test_a_wrong_word_is_named_with_its_line(tmp_path, old, new, line, says):
    assert TEXT.count(old) >= 1
    with pytest.raises(GraderError) as raised:
        read(
            tmp_path, TEXT.replace(old, new, 1) if "add" not in old else _last(old, new)
        )
    said = str(raised.value)
    assert re.search(rf"course\.toml:{line}: ", said), said
    assert re.search(says, said), said


def _last(old: str, new: str) -> str:
    head, _, tail = TEXT.rpartition(old)
    return head + new + tail


def test_a_course_without_a_task_or_a_file_is_refused(tmp_path):
    with pytest.raises(GraderError, match="at least one task"):
        read(tmp_path, TEXT.split("[[part]]")[0])
    with pytest.raises(GraderError, match="name a file that exists"):
        course_file.course(tmp_path / "none.toml", {})


def test_deadlines_count_from_the_beginning_or_are_dates(tmp_path):
    made = read(tmp_path)
    first, second = made.parts
    assert first.deadline - made.begins == timedelta(days=7)
    assert second.deadline.isoformat() == "2026-11-15T23:59:00+01:00"
    assert made.of == 100


def test_the_students_edition_says_the_same_but_nothing_that_is_hidden(tmp_path):
    made = read(tmp_path)
    text = course_file.for_students(made)
    assert not re.search("hidden|730417|918273|rubric|all the paths", text)
    again = read(tmp_path, text)
    assert again.of == made.of and not again.hidden
    assert [p.deadline for p in again.parts] == [p.deadline for p in made.parts]
    assert again.late == made.late and again.release_days == made.release_days
    grading = read(tmp_path, course_file.for_grading(made))
    assert grading.hidden.seeds == (730417, 918273) and not grading.hidden.cases


def test_a_course_changes_points_and_hints_and_keeps_what_others_use(tmp_path):
    made = {t.id: t for t in narrowed.narrowed(all_tasks(), read(tmp_path))}
    assert set(made) == {task.id for task in all_tasks()}
    gelu = made["02_naive_c/gelu"]
    assert (gelu.points, gelu.core, gelu.speed, len(gelu.hints)) == (20, True, None, 1)
    linear = made["02_naive_c/linear"]
    assert (linear.points, linear.core, linear.offered) == (0, False, False)
    assert all(len(rung.hints) <= 1 for task in made.values() if task.offered
               for rung in task.rungs)  # fmt: skip


def test_speed_keeps_its_share_of_the_points_where_it_counts(tmp_path):
    before = {task.id: task for task in all_tasks()}["02_naive_c/gelu"]
    text = TEXT.replace("hints = 1", "speed = true")
    made = {t.id: t for t in narrowed.narrowed(all_tasks(), read(tmp_path, text))}
    gelu = made["02_naive_c/gelu"]
    assert gelu.speed and before.speed
    assert gelu.speed.points / 20 == before.speed.points / before.points
    assert sum(b.worth for b in gelu.speed.bands.values()) == gelu.speed.points


def test_in_a_tree_of_a_course_only_its_tasks_are_selected(tmp_path, monkeypatch):
    (tmp_path / "labs").symlink_to(ROOT / "labs")
    made = read(tmp_path)
    monkeypatch.setattr(rungs, "ROOT", tmp_path)
    all_tasks.cache_clear()
    assert tasks.here() is None  # an instructor's file in the repository
    (tmp_path / "MANIFEST").touch()
    all_tasks.cache_clear()
    try:
        selected = {task.id for task in tasks.select(None).tasks}
        with pytest.raises(GraderError, match="no task or rung is called"):
            tasks.select("02_naive_c/linear")
        found = tasks.here()
    finally:
        monkeypatch.undo()
        all_tasks.cache_clear()
    assert selected == set(made.offers)
    assert found is not None and found.name == "two_labs"


def hours(task: Task, rungs: tuple[str, ...]) -> float:
    """What docs/guides/instructors.md says: an hour for 15 lines of the reference, the
    later files of a folder at half, rounded up to half an hour.
    """
    counts = [
        sum(
            int(count)
            for file in (rung.file, *rung.also)
            for count in re.findall(r"the reference takes (\d+) line", file.read_text())
        )
        for rung in task.rungs
        if not rungs or rung.id.rpartition("/")[2] in rungs
    ]
    return math.ceil(2 * (counts[0] + sum(counts[1:]) / 2) / 15) / 2


@pytest.mark.parametrize("file", READY, ids=[file.stem for file in READY])
def test_the_hours_of_a_ready_course_follow_from_the_lines_to_write(file):
    by_id = {task.id: task for task in all_tasks()}
    made = course_file.course(file, narrowed.names(all_tasks()))
    offered_hours = {name: offer.hours for name, offer in made.offers.items()}
    assert offered_hours == {
        n: hours(by_id[n], o.rungs) for n, o in made.offers.items()
    }
    row = next(r for r in GUIDE.splitlines() if f"docs/courses/{file.name}" in r)
    core = sum(offer.hours for offer in made.offers.values() if not offer.extra)
    assert f"| {core:g} |" in row


@pytest.mark.parametrize("file", READY, ids=[file.stem for file in READY])
def test_a_ready_course_is_right_and_makes_100_points(file):
    made = course_file.course(file, narrowed.names(all_tasks()))
    assert made.of == 100
    assert made.prerequisites and made.goals and made.questions
    assert all(offer.hours > 0 for offer in made.offers.values())
    assert all(question.rubric for question in made.questions.values())
    assert all(part.goals for part in made.parts)
