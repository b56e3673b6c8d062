# SPDX-License-Identifier: MIT
"""The plan of `make batch`: who is graded, who cannot be, and who handed in nothing."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.batch import planning, roster, unpacked
from grader.batch.attempts import Work
from grader.batch.downloads import recognised
from grader.batch.downloads.download import Attempt, HandIn
from grader.batch.planning import Job, Refused
from grader.commands import cli
from grader.course.handed.laid import Laid
from grader.errors import GraderError
from tests import put
from tests.grader.commands.test_handed_in import GELU, as_zip
from tests.grader.commands.test_inbox import inbox

__all__ = ["inbox"]  # a fixture
LABS = ["02_naive_c"]


def packed(file: Path, members: dict[str, str | bytes]) -> Path:
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file


def planned(sources: dict[str, str], grader: str = "g") -> list[Job | Refused]:
    """The plan for students who each handed in one file with this text."""

    def taken(source: Path) -> tuple[Laid, dict[str, bytes]]:
        if source.name == "broken":
            raise GraderError("it is damaged")
        return Laid((GELU,), {}, {}), {GELU: source.name.encode()}

    works = [
        Work((name,), HandIn(({"id": name},), (Attempt(Path(text)),)))
        for name, text in sources.items()
    ]
    chosen = lambda work: list(work.hand_in.attempts)  # noqa: E731
    plan = planning.planned(works, chosen, taken, grader)
    return [one if isinstance(one, Refused) else one[0] for one in plan]


def test_each_student_is_a_job_or_a_sentence():
    first, second = planned({"alice": "x", "bob": "broken"})
    assert isinstance(first, Job) and first.students == ("alice",)
    assert second == Refused(("bob",), "it is damaged")


def test_a_job_has_another_name_for_other_files_another_student_or_grader():
    ids = {
        one.id
        for plan in (
            planned({"alice": "x", "bob": "x", "eve": "y"}),
            planned({"alice": "z"}),
            planned({"alice": "x"}, "another"),
            planned({"alice": "x"}),  # the first one again
        )
        for one in plan
        if isinstance(one, Job)
    }
    assert len(ids) == 5


def entries(file: Path, place: Path) -> set[str]:
    """Whose work an archive has."""
    place.mkdir()
    assert unpacked.unpack(file, place) == []
    found = recognised.read(place, place, packed=True, labs=LABS)
    return {one.submitters[0]["id"] for one in found.hand_ins}


@pytest.mark.parametrize("around", ["", "download/"])
def test_an_archive_of_a_class_is_a_folder_of_submissions(tmp_path, around):
    alice = as_zip(tmp_path, {GELU: "mine"}).read_bytes()
    members = {f"{around}alice.zip": alice, f"{around}bob/{GELU}": "his"}
    file = packed(tmp_path / "class.zip", members)
    assert entries(file, tmp_path / "t") == {"alice", "bob"}
    assert (tmp_path / "t" / around / "bob" / GELU).read_text() == "his"


@pytest.mark.parametrize("name", [GELU, GELU.removeprefix("labs/")])
def test_a_folder_with_a_lab_is_the_one_student_of_an_archive(tmp_path, name):
    file = packed(tmp_path / "class.zip", {f"alice/{name}": "mine"})
    assert entries(file, tmp_path / "t") == {"alice"}


@pytest.mark.parametrize(
    "name", ["../out", "/tmp/out", "a/../../out", "n" * 300, "__MACOSX/x", "alice/x/y"]
)
def test_a_name_that_leads_elsewhere_is_left_out(tmp_path, name):
    file = packed(tmp_path / "class.zip", {"alice/x": "mine", name: "x"})
    place = tmp_path / "place"
    place.mkdir()
    assert unpacked.unpack(file, place) == [name]
    assert [one.name for one in tmp_path.iterdir() if one != file] == ["place"]
    assert (place / "alice" / "x").read_text() == "mine"


def test_of_two_files_of_one_name_the_first_one_is_taken(tmp_path):
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
        archive.writestr("alice.zip", "first")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("alice.zip", "second")
    (tmp_path / "t").mkdir()
    left = unpacked.unpack(tmp_path / "class.zip", tmp_path / "t")
    assert left == ["alice.zip"]
    assert (tmp_path / "t" / "alice.zip").read_text() == "first"


def test_a_class_list_names_who_is_missing_and_who_is_strange(tmp_path):
    file = put(tmp_path / "r.csv", "id,name\nalice,\n7,Bob\n\n8,Carol\n")
    on = roster.read(file)
    assert on.found({"id": "7", "name": "x"}) == on.found({"name": "BOB"}) == ("7",)
    assert on.nothing(["alice", "7", "eve"]) == ["8 (Carol)"]
    assert on.strange(["alice", "7", "eve"]) == ["eve"]
    assert roster.Roster().strange(["eve"]) == []
    for text, says in (
        ("alice\n", "r.csv:1: expected a line like id,name, got 'alice'"),
        ("email,id\na@x,\n", "r.csv:2: expected a line like email,id, got 'a@x,'"),
        ("a,A\nb,B\na,C\n", "r.csv:3: the id 'a' stands in two lines: keep one"),
    ):
        with pytest.raises(GraderError, match=says):
            roster.read(put(file, text))
    with pytest.raises(GraderError, match="expected a CSV file"):
        roster.read(tmp_path / "none.csv")


@pytest.fixture
def ask(inbox: Path, monkeypatch) -> Callable[..., int]:
    """The command, on an inbox."""
    monkeypatch.setenv("SUBMISSIONS", str(inbox))
    monkeypatch.setenv("DRY", "1")

    def asked(**words: str) -> int:
        return cli.run("batch", [f"{name}={value}" for name, value in words.items()])

    return asked


def test_a_dry_run_lists_everybody_and_grades_nobody(inbox, tmp_path, ask, capsys):
    put(inbox / "alice" / GELU, "mine")
    put(inbox / "bob.zip", "no zip")
    put(tmp_path / "r.csv", "alice,Alice\ncarol,Carol\n")
    assert ask(ROSTER=str(tmp_path / "r.csv")) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "to grade: alice: 02_naive_c/gelu; time unknown"
    assert said[1].startswith("cannot be graded: bob: bob.zip cannot be read")
    assert said[2:] == ["handed in nothing: carol (Carol)", "not in ROSTER=: bob"]
    assert not (tmp_path / "desk").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"SUBMISSIONS": ""}, "name the folder of the submissions: make batch"),
        ({"SUBMISSIONS": "none"}, "SUBMISSIONS= is 'none', expected a folder"),
        ({"ENGINE": "flux"}, "ENGINE= is 'flux', expected local or slurm"),
        ({"DRY": "", "TIMED": "1"}, "SBATCH= and TIMED= need ENGINE=slurm"),
        ({"COURSE": ""}, "name the file of the course: make batch"),
    ],
)
def test_an_order_that_makes_no_sense_is_refused(ask, words, says):
    with pytest.raises(GraderError, match=says):
        ask(**words)
