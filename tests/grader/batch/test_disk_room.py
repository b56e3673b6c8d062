# SPDX-License-Identifier: MIT
"""What a batch leaves on the disk has a limit. It asks for room before it starts."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from grader.batch import disk_room, queue
from grader.errors import GraderError
from tests import put
from tests.grader.batch.test_attempts import ask, send
from tests.grader.commands.test_inbox import inbox

__all__ = ["ask", "inbox"]  # fixtures


def test_old_results_are_deleted_above_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(disk_room, "KEPT", 250)
    for age, name in enumerate(["new", "old", "older", "oldest", "wanted"]):
        file = put(tmp_path / f"{name}.json", "x" * 100)
        os.utime(file, (1000 - age, 1000 - age))
    disk_room.forget(tmp_path, ["wanted"])
    assert {file.stem for file in tmp_path.iterdir()} == {"new", "old", "wanted"}


def test_a_disk_that_is_too_small_is_named_before_anything_is_graded(
    inbox, tmp_path, ask, monkeypatch, capsys
):
    send(inbox, "alice.zip", "mine")
    send(inbox, "bob.zip", "mine")
    free = SimpleNamespace(free=150 * disk_room.MIB)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: free)
    with pytest.raises(
        GraderError, match=r"^grading needs 202 MiB of disk, and .* has 150 MiB free: "
    ) as error:
        ask(JOBS="2")
    assert "\n" not in str(error.value) and not (tmp_path / "desk").exists()
    assert ask(JOBS="1") == 0
    free.free = 0
    assert ask(JOBS="1") == 0  # all are graded


def test_a_run_leaves_no_unpacked_submissions(inbox, tmp_path, ask, monkeypatch):
    send(inbox, "alice.zip", "mine")
    killed = subprocess.Popen(["true"])
    killed.wait()
    rooms = tmp_path / "build" / "batch" / "two_labs" / "rooms"
    put(rooms / queue.owner(killed.pid) / "submissions" / "alice.zip")
    archive = Path(shutil.make_archive(str(tmp_path / "class"), "zip", inbox))
    monkeypatch.setenv("SUBMISSIONS", str(archive))
    assert ask() == 0
    batch = tmp_path / "build" / "batch"
    assert [one.name for one in batch.iterdir()] == ["two_labs"]
    names = {one.name for one in (batch / "two_labs").iterdir()}
    assert names == {"jobs", "leases", "results", "class", "rooms"}
    assert not list(rooms.iterdir())
    assert not list((batch / "two_labs" / "leases").iterdir())
