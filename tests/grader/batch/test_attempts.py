# SPDX-License-Identifier: MIT
"""Which attempt counts, whose it is, and what is kept of it."""

from __future__ import annotations

import contextlib
import unicodedata
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from grader.batch import attempts, class_tree, roster
from grader.batch.downloads.download import Attempt, Download, HandIn
from grader.batch.queue import Queue
from grader.commands import batch, cli
from grader.course.offered.course_file import (
    ANSWERS,
    ATTEMPTS,
    BEFORE_DEADLINE,
    BEST,
    LAST,
)
from grader.engine.marks import desk
from grader.errors import GraderError
from grader.handout import course_trees
from tests import put
from tests.grader.batch.test_downloads import EARLY, LATE, METADATA, clone
from tests.grader.commands.test_handed_in import GELU, as_tar, as_zip
from tests.grader.commands.test_inbox import inbox
from tests.grader.course.offered import TEXT, read
from tests.grader.engine.marks.test_marks import graded

__all__ = ["inbox"]  # a fixture
DEADLINE = datetime(2026, 11, 5, tzinfo=UTC)
HOUR = timedelta(hours=1)


def hand_in(*times: datetime | None, **marks: str) -> HandIn:
    """A hand-in with an attempt at each of these times."""
    made = [
        Attempt(Path(f"{number}.zip"), when, number, len(times))
        for number, when in enumerate(times, start=1)
    ]
    return HandIn((marks or {"name": "alice"},), tuple(made))


def numbers(one: HandIn, rule: str) -> list[int]:
    """The attempts that are graded."""
    return [attempt.number for attempt in attempts.chosen(one, rule, DEADLINE)]


# ---- which attempt -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "times", "wanted"),
    [
        (LAST, [EARLY, EARLY + HOUR, LATE], [3]),
        (BEST, [EARLY, EARLY + HOUR, LATE], [1, 2, 3]),
        (BEFORE_DEADLINE, [EARLY, EARLY + HOUR, LATE], [2]),
        (BEFORE_DEADLINE, [EARLY, DEADLINE, LATE], [2]),
        (BEFORE_DEADLINE, [LATE, LATE + HOUR], [1]),  # the least late
        (BEFORE_DEADLINE, [None], [1]),
        (LAST, [None, None], [2]),
        (BEST, [None, None], [1, 2]),
    ],
)
def test_the_course_says_which_attempt_counts(rule, times, wanted):
    assert numbers(hand_in(*times), rule) == wanted


def test_without_times_nobody_knows_what_was_before_the_deadline():
    with pytest.raises(GraderError, match="which of the 2 attempts"):
        numbers(hand_in(None, EARLY), BEFORE_DEADLINE)


@pytest.mark.parametrize(("rule", "wanted"), [(LAST, [1]), (BEST, [7, 1])])
def test_an_earlier_commit_is_an_attempt_unless_the_last_one_counts(rule, wanted):
    one = HandIn(({},), hand_in(LATE).attempts, before=lambda _: earlier)
    earlier = Attempt(Path("early"), EARLY, 7)
    assert numbers(one, rule) == wanted
    assert numbers(one, BEFORE_DEADLINE) == [7]


def test_the_first_attempt_with_the_most_points_is_kept():
    results = [{"why": "killed"}, *({"results": graded()} for _ in range(3))]
    results[1]["results"] = graded() | {"points": 1.0}
    assert attempts.best(enumerate(results)) == (2, results[2])


@pytest.mark.parametrize("rule", ATTEMPTS)
def test_the_key_of_the_course_is_one_of_three_sentences(tmp_path, rule):
    assert read(tmp_path).attempt == LAST
    assert read(tmp_path, f'attempt = "{rule}"\n{TEXT}').attempt == rule
    with pytest.raises(GraderError, match=r'course.toml:1: attempt: expected "last"'):
        read(tmp_path, f'attempt = "lost"\n{TEXT}')


def test_students_read_which_attempt_counts_and_where_answers_go(tmp_path):
    page = course_trees.page(read(tmp_path))
    assert "- If you hand in several times, your last hand-in counts.\n" in page
    assert f"- {ANSWERS}\n" in page
    text = f'attempt = "best"\nanswers = "On paper, in room 3."\n{TEXT}'
    page = course_trees.page(read(tmp_path, text))
    assert "the hand-in with the most points counts.\n" in page
    assert "- On paper, in room 3.\n" in page and ANSWERS not in page
    none = TEXT.replace("questions = [", "goals = [").replace("{ id=", "# ")
    assert ANSWERS not in course_trees.page(read(tmp_path, none))


# ---- whose work ----------------------------------------------------------------------


CLASS = """id,name,email,moodle_id,canvas_id,github,team
7,Alice Van Example,a@x,100,,al-ex,red
8,Bob,b@x,101,12,,red
9,Carol,,102,,,
10,Carol,,103,,,
"""


@pytest.mark.parametrize(
    ("marks", "whose"),
    [
        ({"moodle_id": "102", "name": "Nobody"}, ("9",)),
        ({"moodle_id": "999", "name": "alice van example"}, ("7", "8")),
        ({"canvas_id": "5", "name": "vanexamplealice"}, ("7", "8")),
        ({"canvas_id": "5", "name": "examplealicevan"}, ("7", "8")),
        ({"github": "AL-EX"}, ("7", "8")),
        ({"name": "red", "team": "red"}, ("7", "8")),
        ({"id": "9+10", "name": "9+10"}, ("9", "10")),
        ({"id": "9+eve", "name": "9+eve"}, ("9+eve",)),
        ({"canvas_id": "100", "name": "dave"}, ("dave",)),  # of another platform
    ],
)
def test_the_list_says_who_is_who_and_who_is_in_a_team(tmp_path, marks, whose):
    on = roster.read(put(tmp_path / "r.csv", CLASS))
    (work,) = attempts.works(Download((hand_in(None, **marks),)), on)
    assert work.students == whose and not work.hand_in.why


def test_github_classroom_s_own_list_is_one(tmp_path):
    text = "identifier,github_username,github_id,name\n7,al,55,\n"
    on = roster.read(put(tmp_path / "classroom_roster.csv", text))
    assert on.found({"github": "al"}) == ("7",)


def test_two_students_of_one_name_are_told_apart_or_refused(tmp_path):
    both = Download(
        tuple(hand_in(None, moodle_id=number, name="Carol") for number in ("102", "5"))
    )
    works = attempts.works(both, roster.Roster())
    assert [one.students for one in works] == [("Carol (102)",), ("Carol (5)",)]
    on = roster.read(put(tmp_path / "r.csv", CLASS))
    first, second = attempts.works(both, on)
    assert first.students == ("9",) and not first.hand_in.why
    assert "2 students of ROSTER= have the name 'Carol'" in second.hand_in.why


def test_hand_ins_of_one_team_are_attempts_if_their_times_are_known(tmp_path):
    on = roster.read(put(tmp_path / "r.csv", CLASS))
    timed = Download((hand_in(LATE, id="7"), hand_in(EARLY, id="8")))
    (work,) = attempts.works(timed, on)
    assert work.students == ("7", "8")
    assert [(a.when, a.number, a.of) for a in work.hand_in.attempts] == [
        (EARLY, 1, 2),
        (LATE, 2, 2),
    ]
    (work,) = attempts.works(
        Download((hand_in(LATE, id="7"), hand_in(None, id="8"))), on
    )
    assert "several submissions are of the same student" in work.hand_in.why
    both = HandIn(({"id": "7"}, {"id": "9"}), hand_in(EARLY).attempts)
    works = attempts.works(Download((both, hand_in(EARLY, id="9"))), on)
    assert all("of the same student" in one.hand_in.why for one in works)


# ---- the command ---------------------------------------------------------------------


@pytest.fixture
def ask(inbox: Path, tmp_path, monkeypatch) -> Callable[..., int]:
    """The command on an inbox, with a grading of our own: a point for each letter."""
    monkeypatch.setenv("SUBMISSIONS", str(inbox))
    monkeypatch.setattr(
        class_tree, "make", lambda folder, *_: put(folder / "class" / "key")
    )

    @contextlib.contextmanager
    def crew(_: Any, place: Any, logs: Path, count: int) -> Iterator[Any]:
        queue = Queue(logs.parent, lease=60)
        for id_ in queue.waiting():
            files = (queue.jobs / id_ / "files").rglob("*.*")
            points = sum(file.stat().st_size for file in files)
            result = graded() | {"points": float(points), "extra": 0.0}
            queue.put(id_, {"results": result, "page": ""})
        yield type("Crew", (), {"tend": lambda _: 0, "poll": 0.0})()

    monkeypatch.setattr(batch, "LocalCrew", crew)

    def asked(**words: str) -> int:
        return cli.run("batch", [f"{name}={value}" for name, value in words.items()])

    return asked


def course(tmp_path: Path, rule: str) -> None:
    put(tmp_path / "course.toml", f'attempt = "{rule}"\n{TEXT}')


def send(inbox: Path, name: str, text: str) -> None:
    as_zip(inbox.parent, {f"x/{GELU}": text}).rename(inbox / name)


def files(tmp_path: Path) -> dict[str, datetime | None]:
    """The students on the desk, with the time of their work."""
    found = desk.everybody(tmp_path / "desk" / "two_labs")
    return {who: one.handed_in["02_naive_c/gelu"] for who, one in found.items()}


def test_the_best_attempt_is_kept_and_a_broken_one_costs_nothing(
    inbox, tmp_path, ask, capsys
):
    course(tmp_path, BEST)
    send(inbox, "alice_12_100_labs.zip", "long text")
    send(inbox, "alice_12_101_labs-1.zip", "short")
    put(inbox / "alice_12_102_labs-2.zip", "no zip")
    put(inbox / "bob_13_103_labs.zip", "no zip")
    assert ask() == 1
    (record,) = desk.everybody(tmp_path / "desk" / "two_labs").values()
    digest = record.files["02_naive_c/gelu"][GELU].sha256
    assert digest.startswith("195959d5")  # of "long text"
    assert "1 of 2 students were graded" in capsys.readouterr().out


def test_one_who_cannot_be_graded_costs_nobody_else(inbox, tmp_path, ask, capsys):
    send(inbox, "alice.zip", "mine")
    (inbox / "bob.rar").write_bytes(b"Rar!\x1a\x07\x00")
    put(inbox / "carol.zip", "no zip")
    as_tar(tmp_path, {f"x/{GELU}": "mine"}).rename(inbox / "dave.tar.gz")
    send(inbox, "dave.zip", "mine")
    put(inbox / "eve.txt", "I was ill")
    put(inbox / "frank" / GELU, "mine")
    put(inbox / ".DS_Store")
    assert ask() == batch.SOME_MISSING
    assert set(files(tmp_path)) == {"alice", "frank"}
    said = capsys.readouterr().out
    left = said[said.index("2 of 6 students were graded") :].splitlines()[1:]
    why = {line.split(": ")[1]: line.split(": ", 2)[2] for line in left}
    assert set(why) == {"bob", "carol", "dave", "eve.txt"}
    assert (
        "it is a RAR archive" in why["bob"] and "dave.tar.gz, dave.zip" in why["dave"]
    )
    assert cli.run("marks") == 0
    table = capsys.readouterr().out
    assert all(one in table for one in why.values())


def test_a_name_in_two_spellings_is_one_student_with_two_archives(inbox, ask, capsys):
    for form in ("NFC", "NFD"):
        send(inbox, f"{unicodedata.normalize(form, 'José')}.zip", "mine")
    assert ask() == batch.SOME_MISSING
    assert "José: several submissions have this name" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("named", "says"),
    [
        ("", "this folder is empty"),
        ("none", "expected a folder with an archive"),
    ],
)
def test_a_folder_that_holds_no_submission_is_refused(inbox, ask, named, says):
    with pytest.raises(GraderError, match=says):
        ask(SUBMISSIONS=str(inbox / named))


def test_a_team_is_graded_once_and_kept_for_each_member(inbox, tmp_path, ask, capsys):
    put(inbox / "submission_metadata.yml", METADATA)
    put(inbox / "submission_11" / GELU, "mine")
    assert ask(DRY="1") == 0
    said = capsys.readouterr().out.splitlines()
    assert said[1] == (
        "to grade: a team: Alice Example, Bob By: 02_naive_c/gelu; attempt 2 of 3; "
        "handed in 2026-11-02 09:00+01:00"
    )
    assert said[2] == (
        "cannot be graded: Carol: the export has no folder of this submission"
    )
    assert ask(WHEN="2026-12-24T10:00") == 1  # the download knows better
    times = files(tmp_path)
    assert set(times) == {"Alice Example", "Bob\nBy"}
    assert {when and when.replace(microsecond=0) for when in times.values()} == {EARLY}
    jobs = tmp_path / "build" / "batch" / "two_labs" / "jobs"
    assert len(list(jobs.iterdir())) == 1


def test_an_extension_moves_the_deadline_that_counts(inbox, tmp_path, ask):
    course(tmp_path, BEFORE_DEADLINE)
    clone(inbox / "lab-bob")
    assert ask(PART="week_1") == 0 and files(tmp_path) == {"lab-bob": EARLY}
    put(tmp_path / "desk" / "two_labs" / "people.toml", "lab-bob.extension_days = 9\n")
    assert ask(PART="week_1") == 0 and files(tmp_path) == {"lab-bob": LATE}


@pytest.mark.parametrize("known", [True, False])
def test_unknown_times_are_named_where_lateness_costs(
    inbox, tmp_path, ask, capsys, known
):
    text = METADATA if known else METADATA.replace("_at: 2026-11-09", "_at: x2026")
    put(inbox / "submission_metadata.yml", text)
    put(inbox / "submission_11" / GELU, "mine")
    put(inbox / "submission_13" / GELU, "mine")
    assert ask() == 0
    said = "without WHEN= nothing that is graded now counts as late"
    assert (said in capsys.readouterr().out) is not known
