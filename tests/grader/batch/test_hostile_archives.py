# SPDX-License-Identifier: MIT
"""A class with one hostile archive.

Each gives a sentence, takes little memory and disk, and touches nothing beside the
folders of the command.
"""

from __future__ import annotations

import hashlib
import re
import tracemalloc
from pathlib import Path

import pytest

from grader.batch import disk_room
from grader.course.handed import opened
from grader.errors import GraderError
from tests import put
from tests.grader.batch.hostile import BESIDE, HOSTILE, zipped
from tests.grader.batch.test_attempts import ask
from tests.grader.commands.test_inbox import inbox

__all__ = ["ask", "inbox"]  # fixtures
MEMORY, DISK = 40 << 20, 64 << 20  # bytes
OWN = {"build", "desk"}  # what the command may write in
WAYS = ("in a folder", "in an archive", "as the class")
CLASS = "10,000 files"  # as the class it is one of 10,000 students, and not hostile


def state(folder: Path) -> dict[str, str]:
    """Everything below a folder but the command's own, with its contents."""
    found = {}
    for file in sorted(folder.rglob("*")):
        path = file.relative_to(folder)
        if path.parts[0] not in OWN:
            data = file.read_bytes() if file.is_file() else b""
            found[str(path)] = hashlib.sha256(data).hexdigest()
    return found


@pytest.mark.parametrize(
    ("what", "way"),
    [
        (what, way)
        for what in HOSTILE
        for way in WAYS
        if (what, way) != (CLASS, WAYS[2])
    ],
)
def test_a_hostile_archive_costs_a_sentence(
    inbox, tmp_path, ask, monkeypatch, capsys, what, way
):
    hostile = HOSTILE[what]
    data = hostile.make()
    monkeypatch.setattr(opened, "MOST_BYTES", 64 << 20)
    put(tmp_path / BESIDE, "untouched")
    if way == "in an archive":
        data, name = zipped({hostile.name: data, "bob/x": b""}), "class.zip"
    else:
        name = hostile.name
    (inbox / name).write_bytes(data)
    if way != "in a folder":
        monkeypatch.setenv("SUBMISSIONS", str(inbox / name))
    before, error = state(tmp_path), ""
    tracemalloc.start()
    try:
        ask()
    except GraderError as refused:
        error = str(refused)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert state(tmp_path) == before
    assert not Path("/tmp/convlab-evil").exists()
    assert peak < MEMORY
    assert sum(disk_room.size(tmp_path / one) for one in OWN) < DISK
    said = [*capsys.readouterr().out.splitlines(), *filter(None, [error])]
    assert all(line.isprintable() and "\x1b" not in line for line in said), said
    if way != "as the class":
        mine = [line for line in said if "bob: " not in line]
        assert len([one for one in mine if re.search(hostile.says, one)]) == 1, said
