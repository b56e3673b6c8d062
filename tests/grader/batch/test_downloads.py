# SPDX-License-Identifier: MIT
"""The download of each platform: names, times, attempts and teams, as it has them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from grader.batch.downloads import (
    canvas,
    classroom,
    commits,
    gradescope,
    moodle,
    recognised,
)
from grader.batch.downloads.download import Download, HandIn
from grader.errors import GraderError
from tests import put
from tests.grader.commands.test_handed_in import GELU

EARLY = datetime(2026, 11, 2, 8, tzinfo=UTC)
LATE = datetime(2026, 11, 9, 8, tzinfo=UTC)
SIGNATURE = "-----BEGIN PGP SIGNATURE-----\n x\n -----END PGP SIGNATURE-----"
METADATA = """---
submission_11:
  :submitters:
  - :name: Alice Example
    :sid: '06001'
    :email: alice@example.org
  - :name: "Bob\\nBy"
    :sid:
    :email: bob@example.org
  :created_at: 2026-11-02 08:00:00.938335000 Z
  :score: 0.0
  :results:
    output: |
      submission_99:
        :submitters:
  :history:
  - :submitters: []
    :created_at: 2026-11-01 08:00:00.000000000 Z
    :id: 10
  - :submitters: []
    :created_at: 2026-11-09 08:00:00.000000000 Z
    :id: 12
submission_13:
  :submitters:
  - :name: Carol
    :sid: '06003'
    :email: carol@example.org
  :created_at: 2026-11-09 08:00:00.000000000 Z
  :history: []
"""


def read(folder: Path, *, packed: bool = False) -> Download:
    """What a folder is recognised as."""
    work = folder.parent / "work"
    work.mkdir(exist_ok=True)
    return recognised.read(folder, work, packed=packed, labs=["02_naive_c"])


def by_name(found: Download) -> Mapping[str, HandIn]:
    """The hand-ins by the name of the first submitter."""
    return {one.submitters[0]["name"]: one for one in found.hand_ins}


# ---- Moodle --------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["", "_"])
def test_moodle_names_a_folder_after_student_and_number(tmp_path, ending):
    inbox = tmp_path / "inbox"
    put(inbox / f"Alice Van Example_123456_assignsubmission_file{ending}" / "labs.zip")
    put(inbox / f"Alice Van Example_123456_assignsubmission_onlinetext{ending}" / "x")
    put(inbox / f"Bob_7_assignsubmission_onlinetext{ending}" / "onlinetext.html")
    put(inbox / f"Default group_assignsubmission_file{ending}" / GELU)
    put(inbox / "notes.txt")
    read_ = read(inbox)
    found = by_name(read_)
    alice = found["Alice Van Example"]
    assert alice.submitters[0]["moodle_id"] == "123456" and not alice.why
    assert alice.attempts[0].when is None and "WHEN=" in read_.notes[0]
    assert found["Bob"].why == moodle.ONLY_TEXT and not found["Default group"].why
    assert found["notes.txt"].why == moodle.OTHER


def test_moodle_without_folders_names_each_file(tmp_path):
    inbox = tmp_path / "inbox"
    put(inbox / "Alice_1_assignsubmission_file_my_labs.zip")
    put(inbox / "Bob_2_assignsubmission_file_a.c")
    put(inbox / "Bob_2_assignsubmission_file_b.c")
    found = by_name(read(inbox))
    assert found["Alice"].attempts[0].source.name.endswith("my_labs.zip")
    assert "several files were handed in: Bob_2" in found["Bob"].why


def test_the_one_student_of_moodle_is_no_folder_around_a_class(tmp_path):
    put(tmp_path / "inbox" / "Alice_1_assignsubmission_file" / "labs.zip")
    assert set(by_name(read(tmp_path / "inbox", packed=True))) == {"Alice"}


# ---- Canvas --------------------------------------------------------------------------


def test_canvas_names_a_file_after_student_numbers_and_upload(tmp_path):
    inbox = tmp_path / "inbox"
    for name in (
        "examplealice_12_100_labs.zip",
        "examplealice_12_90_labs-1.zip",  # the number tells the order, not the -1
        "examplealice_12_101_answers.pdf",
        "bob_LATE_13_102_my_labs_2.tar.gz",
        "anon_xY12_103_labs.zip",
        "LATE_anon_zz_104_labs.zip",
        "carol_14_text.html",
        "dave_15_105_lab02.zip",
        "dave_15_106_lab03.zip",
        "eve_16_107_gelu.c",
    ):
        put(inbox / name)
    read_ = read(inbox)
    found = by_name(read_)
    assert "WHEN=" in read_.notes[0]
    alice = found["examplealice"]
    assert alice.submitters[0]["canvas_id"] == "12"
    assert [one.source.name[-10:] for one in alice.attempts] == [
        "labs-1.zip",
        "0_labs.zip",
    ]
    assert [(one.number, one.of) for one in alice.attempts] == [(1, 2), (2, 2)]
    assert "not taken: answers.pdf" in alice.attempts[0].said
    assert found["bob"].attempts[0].said == canvas.LATE
    assert not found["anon_xY12"].attempts[0].said
    assert found["anon_zz"].attempts[0].said == canvas.LATE
    assert found["carol"].why == canvas.NO_FILE
    assert "lab02.zip, lab03.zip" in found["dave"].why
    assert found["eve"].attempts


def test_one_other_name_and_a_folder_is_an_inbox(tmp_path):
    put(tmp_path / "inbox" / "alice_12_100_labs.zip")
    put(tmp_path / "inbox" / "bob.zip")
    assert set(by_name(read(tmp_path / "inbox"))) == {"alice_12_100_labs", "bob"}


# ---- Gradescope ----------------------------------------------------------------------


def test_gradescope_lists_submitters_and_times(tmp_path):
    inbox = tmp_path / "inbox" / "assignment_5_export"
    put(inbox / gradescope.METADATA, METADATA)
    put(inbox / "submission_11" / GELU)
    put(inbox / "submission_77" / GELU)
    read_ = read(tmp_path / "inbox")
    team, carol, other = read_.hand_ins
    assert team.submitters == (
        {"id": "06001", "email": "alice@example.org", "name": "Alice Example"},
        {"email": "bob@example.org", "name": "Bob\nBy"},
    )
    (attempt,) = team.attempts
    assert attempt.when and attempt.when.replace(microsecond=0) == EARLY
    assert (attempt.number, attempt.of) == (2, 3)  # a later one is not active
    assert read_.notes == (gradescope.OTHERS_MISSING,)
    assert carol.why == gradescope.NO_FILES and other.why == gradescope.NOT_LISTED


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: [", "submission_metadata.yml cannot be read: "),
        ("", "lists no submission"),
        ("[1, 2]", "lists no submission"),
        ("submission_1: 7", "has another form than expected"),
        ("submission_1:\n  :submitters: 7", "has another form than expected"),
        ("x: !!python/object/apply:os.system ['touch A']", "cannot be read"),
    ],
)
def test_metadata_of_another_form_is_one_sentence(tmp_path, text, says):
    put(tmp_path / "inbox" / gradescope.METADATA, text)
    with pytest.raises(GraderError, match=says) as error:
        read(tmp_path / "inbox")
    assert "\n" not in str(error.value)


# ---- GitHub Classroom ----------------------------------------------------------------


def git(place: Path, *words: str, when: datetime = EARLY) -> str:
    """What git says in a repository at some time."""
    stamp = when.isoformat()
    who = {f"GIT_{x}_{y}": "a" for x in ("AUTHOR", "COMMITTER") for y in ("NAME",)}
    mail = {"GIT_AUTHOR_EMAIL": "a@x", "GIT_COMMITTER_EMAIL": "a@x"}
    times = {"GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp}
    done = subprocess.run(
        ["git", "-c", "init.defaultBranch=main", *words],
        cwd=place,
        env={**os.environ, **who, **mail, **times},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def clone(folder: Path) -> Path:
    """A repository with an early commit and a late one."""
    put(folder / GELU, "early")
    git(folder, "init", "-q")
    for text, when in (("early", EARLY), ("late", LATE)):
        put(folder / GELU, text)
        git(folder, "add", ".")
        git(folder, "commit", "-qm", text, when=when)
    return folder


def test_clones_have_users_and_the_time_of_the_last_commit(tmp_path):
    inbox = tmp_path / "lab-2-submissions"
    clone(inbox / "lab-2-alice-x")
    clone(inbox / "lab-2-alice-y")
    (inbox / "lab-2-bob" / ".git").mkdir(parents=True)
    read_ = read(tmp_path / "lab-2-submissions")
    found = by_name(read_)
    assert set(found) == {"alice-x", "alice-y", "bob"}
    assert found["alice-x"].attempts[0].when == LATE
    assert found["bob"].attempts[0].when is None
    assert read_.notes == (classroom.TIMES,)


def test_the_last_commit_before_a_moment_is_an_attempt(tmp_path):
    clone(tmp_path / "inbox" / "lab-bob")
    git(tmp_path / "inbox" / "lab-bob", "gc", "-q")  # packed, as a clone is
    (one,) = read(tmp_path / "inbox").hand_ins
    assert one.before and one.before(datetime(2026, 1, 1, tzinfo=UTC)) is None
    attempt = one.before(datetime(2026, 11, 3, tzinfo=UTC))
    assert attempt and attempt.when == EARLY
    subprocess.run(["tar", "xf", attempt.source], cwd=tmp_path, check=True)
    assert (tmp_path / GELU).read_text() == "early"


def sign(clone: Path) -> None:
    """Give the last commit a signature: git may run a program to check it."""
    head, _, text = git(clone, "cat-file", "commit", "HEAD").partition("\n\n")
    head += f"\ngpgsig {SIGNATURE}"
    file = put(clone / ".git" / "signed", f"{head}\n\n{text}\n")
    sha = git(clone, "hash-object", "-t", "commit", "-w", str(file))
    git(clone, "update-ref", "refs/heads/main", sha)


def test_git_runs_nothing_that_a_clone_names(tmp_path):
    bad = clone(tmp_path / "inbox" / "lab-bob")
    touch = put(tmp_path / "touch", f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    touch.chmod(0o755)
    sign(bad)
    for name, value in (
        ("log.showSignature", "true"),
        ("gpg.program", str(touch)),
        ("core.repositoryformatversion", "1"),
        ("extensions.partialClone", "x"),
        ("remote.x.promisor", "true"),
        ("remote.x.url", f"ext::{touch}"),
        ("protocol.ext.allow", "always"),
    ):
        git(bad, "config", name, value)
    (one,) = read(tmp_path / "inbox").hand_ins
    assert one.attempts[0].when == LATE and one.before and one.before(EARLY)
    assert not (tmp_path / "ran").exists()
    sha = git(bad, "rev-parse", "HEAD")
    (bad / ".git" / "objects" / sha[:2] / sha[2:]).unlink()  # the remote may have it
    (one,) = read(tmp_path / "inbox").hand_ins
    assert one.attempts[0].when is None
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "head", ["", "ref: ../../secret", "ref: refs/heads/../../../secret", "0" * 40, "x"]
)
def test_a_head_that_names_no_commit_has_no_time(tmp_path, head):
    bad = clone(tmp_path / "inbox" / "lab-bob")
    sha = git(bad, "rev-parse", "HEAD")
    put(tmp_path / "inbox" / "secret", sha)
    put(bad / ".git" / "HEAD", head)
    assert commits.last_time(bad) is None
