# SPDX-License-Identifier: MIT
"""A newer handout over started work: what is replaced, merged and kept."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from grader.course.handed import renewal, starters
from grader.errors import GraderError
from tests import put

RUNG = "labs/02_naive_c/add/00_broadcast.c"
OTHER = "labs/02_naive_c/add/01_next.c"
OURS = "grader/grade.py"
START = "// head\nint a;\n\nint b;\n\nint c;\n"


def handout(root: Path, files: Mapping[str, str]) -> Path:
    """A tree with its starters and its manifest, and its archive beside it."""
    for name, text in files.items():
        put(root / name, text)
    starters.pack(root, [name for name in files if name.startswith("labs/")])
    lines = []
    for file in sorted(root.rglob("*")):
        if file.is_file():
            digest = hashlib.sha256(file.read_bytes()).hexdigest()
            lines.append(f"{digest}  {file.relative_to(root)}\n")
    put(root / "MANIFEST", "".join(lines))
    archive = root.with_suffix(".zip")
    with zipfile.ZipFile(archive, "w") as packed:
        for file in sorted(root.rglob("*")):
            if file.is_file():
                packed.write(file, f"convlab-handout/{file.relative_to(root)}")
    return archive


@pytest.fixture
def old(tmp_path: Path) -> Path:
    handout(tmp_path / "work", {RUNG: START, OTHER: START, OURS: "one\n"})
    return tmp_path / "work"


def renewed(old: Path, files: Mapping[str, str]) -> renewal.Report:
    archive = handout(old.parent / "newer", files)
    return renewal.renew(old, renewal.unpacked(archive))


def test_what_nobody_changed_follows_the_new_handout(old: Path) -> None:
    newer = {RUNG: START + "int d;\n", OURS: "two\n", "grader/new.py": "x\n"}
    report = renewed(old, newer)
    assert (old / RUNG).read_text() == newer[RUNG]
    assert (old / OURS).read_text() == "two\n" and (old / "grader/new.py").exists()
    assert not (old / OTHER).exists() and report.removed == 1
    assert not report.kept and not report.merged and not report.conflicts
    assert starters.read(old)[RUNG] == newer[RUNG].encode()


def test_work_stays_where_the_starter_is_the_same(old: Path) -> None:
    put(old / RUNG, "mine\n")
    report = renewed(old, {RUNG: START, OTHER: START, OURS: "two\n"})
    assert (old / RUNG).read_text() == "mine\n"
    assert not report.kept and not report.conflicts


def test_changes_of_both_in_different_lines_are_merged_and_a_copy_kept(
    old: Path,
) -> None:
    mine = START.replace("int a;", "int a = 1;")
    put(old / RUNG, mine)
    report = renewed(old, {RUNG: START.replace("int c;", "int c = 3;")})
    assert (old / RUNG).read_text() == "// head\nint a = 1;\n\nint b;\n\nint c = 3;\n"
    assert report.merged == [RUNG]
    ((name, copy),) = report.kept
    assert name == RUNG and (old / copy).read_text() == mine


def test_a_conflict_leaves_the_students_file_and_shows_both_beside_it(
    old: Path,
) -> None:
    mine = START.replace("int b;", "int mine;")
    put(old / RUNG, mine)
    report = renewed(old, {RUNG: START.replace("int b;", "int theirs;")})
    assert report.conflicts == [RUNG] and (old / RUNG).read_text() == mine
    shown = (old / f"{RUNG}.merged").read_text()
    assert "int mine;" in shown and "int theirs;" in shown and "<<<<<<< yours" in shown


def test_a_file_of_ours_that_was_changed_is_replaced_with_a_copy(old: Path) -> None:
    put(old / OURS, "changed\n")
    report = renewed(old, {RUNG: START, OTHER: START, OURS: "two\n"})
    assert (old / OURS).read_text() == "two\n"
    assert [(old / copy).read_text() for _, copy in report.kept] == ["changed\n"]


def test_what_a_student_wrote_and_the_new_handout_dropped_has_a_copy(
    old: Path,
) -> None:
    put(old / OTHER, "mine\n")
    own = put(old / "labs/02_naive_c/add/07_mine.c", "own\n")
    report = renewed(old, {RUNG: START, OURS: "one\n"})
    assert own.read_text() == "own\n"
    assert [(old / copy).read_text() for _, copy in report.kept] == ["mine\n"]


def test_a_file_that_was_deleted_comes_back(old: Path) -> None:
    (old / RUNG).unlink()
    renewed(old, {RUNG: START, OTHER: START, OURS: "one\n"})
    assert (old / RUNG).read_text() == START


def test_a_tar_gz_is_read_too(old: Path) -> None:
    archive = handout(old.parent / "newer", {RUNG: START, OURS: "two\n"})
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar, zipfile.ZipFile(archive) as z:
        for name in z.namelist():
            entry = tarfile.TarInfo(name)
            entry.size = len(z.read(name))
            tar.addfile(entry, io.BytesIO(z.read(name)))
    named = old.parent / "newer.tar.gz"
    named.write_bytes(gzip.compress(packed.getvalue()))
    assert renewal.unpacked(named).keys() == renewal.unpacked(archive).keys()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda f: f.write_bytes(b"nothing"), "cannot be read"),
        (lambda f: f.unlink(), "cannot be read"),
        (lambda f: repack(f, "convlab-handout/MANIFEST", None), "is not a handout"),
        (lambda f: repack(f, f"convlab-handout/{RUNG}", b"x"), "differs from MANIFEST"),
        (lambda f: repack(f, "convlab-handout/../x", b"x"), "it is not a handout"),
    ],
)
def test_what_is_no_whole_handout_is_refused(old: Path, change, sentence: str) -> None:
    archive = handout(old.parent / "newer", {RUNG: START, OURS: "two\n"})
    change(archive)
    with pytest.raises(GraderError, match=sentence):
        renewal.unpacked(archive)
    assert (old / OURS).read_text() == "one\n"


def repack(archive: Path, name: str, contents: bytes | None) -> None:
    """One member changed, added or (None) left out."""
    with zipfile.ZipFile(archive) as packed:
        files = {n: packed.read(n) for n in packed.namelist()}
    files.pop(name, None)
    if contents is not None:
        files[name] = contents
    with zipfile.ZipFile(archive, "w") as packed:
        for member, data in files.items():
            packed.writestr(member, data)
