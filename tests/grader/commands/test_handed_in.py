# SPDX-License-Identifier: MIT
"""What counts of a submission: the files that students write, and nothing else."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from pathlib import Path

import pytest

from grader.commands import autograde, handed_in
from grader.course.tasks import LARGEST
from grader.errors import GraderError
from tests import put
from tests.grader.course.offered import read

GELU = "labs/02_naive_c/gelu/00_definition.c"
ADD = "labs/01_python_function/add/00_broadcast.py"
FILES = {
    f"alice/{GELU}": "mine",
    f"alice/{ADD}": "mine too",
    "alice/labs/02_naive_c/gelu/07_my_own.c": "another rung",
    "alice/labs/02_naive_c/linear/00_definition.c": "not of this course",
    "alice/labs/02_naive_c/lab.toml": "points = 1000",
    "alice/labs/02_naive_c/gelu/operators.h": "#define real float",
    "alice/Makefile": "grade: ; true",
    "alice/course.toml": "name = 'mine'",
    "alice/grader/engine/score.py": "raise SystemExit",
    f"alice/kept/2026-11-25_12-00-00/{GELU}": "an older one",
    f"alice/solutions/{GELU}": "the reference",
    f"__MACOSX/alice/{GELU}": "resource fork",
    "alice/labs/02_naive_c/gelu/../../../grader/x.c": "elsewhere",
}
TAKEN = [ADD, GELU, "labs/02_naive_c/gelu/07_my_own.c"]


def as_zip(folder: Path, files: dict[str, str]) -> Path:
    file = folder / "alice.zip"
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return file


def as_tar(folder: Path, files: dict[str, str]) -> Path:
    file = folder / "alice.tar.gz"
    with tarfile.open(file, "w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
        for kind, name in ((tarfile.SYMTYPE, ADD), (tarfile.LNKTYPE, GELU)):
            entry = tarfile.TarInfo(f"bob/{name}")
            entry.type, entry.linkname = kind, "/etc/passwd"
            archive.addfile(entry)
    return file


def as_folder(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        put(folder / "sent" / name, text)
    (
        folder / "sent" / "alice" / "labs" / "02_naive_c" / "gelu" / "08_link.c"
    ).symlink_to("/etc/passwd")
    return folder / "sent"


@pytest.mark.parametrize("pack", [as_zip, as_tar, as_folder])
def test_only_the_files_of_the_course_are_taken(tmp_path, pack):
    tree = tmp_path / "tree"
    assert handed_in.lay(pack(tmp_path, FILES), tree, read(tmp_path)) == TAKEN
    there = [f.relative_to(tree).as_posix() for f in tree.rglob("*") if f.is_file()]
    assert sorted(there) == TAKEN
    assert (tree / GELU).read_text() == "mine"


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({}, "has no file of the course: hand in the folder labs"),
        ({"00_definition.c": "x"}, "hand in the folder labs"),
        ({f"a/{GELU}": "x", f"b/{GELU}": "y"}, f"two different files {GELU}"),
        ({GELU: "x" * (LARGEST + 1)}, "is larger than"),
        ({f"f{i}": "" for i in range(handed_in.MOST + 1)}, "more than 1000 files"),
    ],
)
def test_what_cannot_be_laid_out_is_refused_with_a_sentence(tmp_path, files, says):
    with pytest.raises(GraderError, match=says):
        handed_in.lay(as_zip(tmp_path, files), tmp_path / "tree", read(tmp_path))


def test_a_file_that_is_no_archive_is_refused(tmp_path):
    made = read(tmp_path)
    for name, text in (("a.zip", "PK\x03\x04 broken"), ("b.tar.gz", "no tar")):
        with pytest.raises(GraderError, match=r"a \.zip or a \.tar\.gz"):
            handed_in.lay(put(tmp_path / name, text), tmp_path, made)
    with pytest.raises(GraderError, match="cannot be read"):
        handed_in.lay(tmp_path / "none.zip", tmp_path, made)


@pytest.mark.parametrize(
    ("at", "bits", "why"),
    [
        (6, 0x01, "a password"),
        (8, 97, "a method that nobody knows"),
        (8, zipfile.ZIP_DEFLATED, "bytes that are no deflated ones"),
        (8, zipfile.ZIP_LZMA, "nor such"),
    ],
)
def test_a_zip_that_cannot_be_opened_is_refused_with_a_sentence(
    tmp_path, at, bits, why
):
    file = as_zip(tmp_path, {GELU: "mine " * 40})
    data = bytearray(file.read_bytes())
    data[at] |= bits  # in the file's own head, and in the directory at the end
    data[data.index(b"PK\1\2") + at + 2] |= bits
    file.write_bytes(data)
    with pytest.raises(GraderError, match=r"a \.zip or a \.tar\.gz"):
        handed_in.lay(file, tmp_path / "tree", read(tmp_path))


@pytest.mark.parametrize(
    "name",
    ["07_ü.c", "٠٧_seven.c", "07_a\n.c", "07_a;id.c", "07_$(id).c", "07_ .c", "7_a.c"],
)
def test_a_file_with_a_strange_name_does_not_count(tmp_path, name):
    files = {GELU: "mine", f"labs/02_naive_c/gelu/{name}": "what is it?"}
    made = read(tmp_path)
    assert handed_in.lay(as_zip(tmp_path, files), tmp_path / "t", made) == [GELU]


@pytest.mark.parametrize("host", autograde.KNOWN)
@pytest.mark.parametrize(
    ("error", "says"),
    [(GraderError("no file <b>"), "no file <b>"), (KeyError("x"), "failed, not you")],
)
def test_a_host_gets_an_answer_whatever_happens(
    tmp_path, monkeypatch, capsys, host, error, says
):
    def broken(source: Path, made: object) -> None:
        raise error

    monkeypatch.setattr(autograde, "_graded", broken)
    monkeypatch.setattr(autograde, "here", lambda: read(tmp_path))
    for name, value in (("HOST", host), ("FROM", "x"), ("TO", str(tmp_path / "to"))):
        monkeypatch.setenv(name, value)
    assert autograde.run(None) == 0
    answer = (tmp_path / "to").read_text()
    assert says in answer
    last = json.loads(answer if host == "gradescope" else answer.splitlines()[-1])
    assert last.get("score", 0) == 0 and not last.get("scores")
    capsys.readouterr()


def test_a_host_that_nobody_knows_and_a_tree_of_no_course_are_refused(monkeypatch):
    monkeypatch.setenv("HOST", "moodle")
    with pytest.raises(GraderError, match="expected gradescope or autolab"):
        autograde.run(None)
    monkeypatch.setenv("HOST", "autolab")
    monkeypatch.setenv("FROM", "x")
    with pytest.raises(GraderError, match="was not made for a course"):
        autograde.run(None)
