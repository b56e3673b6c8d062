# SPDX-License-Identifier: MIT
"""What counts of a submission: the files that students write, and nothing else."""

from __future__ import annotations

import io
import json
import os
import tarfile
import tracemalloc
import zipfile
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest
from signatures import SIGNATURES

from grader.commands import autograde, cli, handout
from grader.course.exhibits import HUNT
from grader.course.handed import counted_files, opened
from grader.course.offered.course_file import Course, Offer, Part
from grader.course.rungs import ROOT
from grader.course.tasks import LARGEST, all_tasks
from grader.engine.marks import hand_in
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


def as_tar(folder: Path, files: dict[str, str], *, links: bool = True) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / "alice.tar.gz"
    with tarfile.open(file, "w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
        kinds = ((tarfile.SYMTYPE, ADD), (tarfile.LNKTYPE, GELU)) if links else ()
        for kind, name in kinds:
            entry = tarfile.TarInfo(f"bob/{name}")
            entry.type, entry.linkname = kind, "/etc/passwd"
            archive.addfile(entry)
    return file


def as_folder(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        put(folder / "sent" / name, text)
    link = put(folder / "sent/alice/labs/02_naive_c/gelu/08_link.c")
    link.unlink()
    link.symlink_to("/etc/passwd")
    return folder / "sent"


@pytest.mark.parametrize("pack", [as_zip, as_tar, as_folder])
def test_only_the_files_of_the_course_are_taken(tmp_path, pack):
    tree = tmp_path / "tree"
    laid = hand_in.lay(pack(tmp_path, FILES), tree, read(tmp_path))
    assert list(laid.names) == TAKEN
    there = [f.relative_to(tree).as_posix() for f in tree.rglob("*") if f.is_file()]
    assert sorted(there) == TAKEN
    assert (tree / GELU).read_text() == "mine"


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({}, "none of the files that the course asks for. Hand in the folder labs"),
        ({"00_definition.c": "x"}, "Hand in the folder labs"),
        ({f"a/{GELU}": "x", f"b/{GELU}": "y"}, f"two different files {GELU}"),
        ({GELU: "x" * (LARGEST + 1)}, "is larger than"),
        ({f"f{i}": "" for i in range(hand_in.MOST + 1)}, "more than 1000 files"),
    ],
)
def test_what_cannot_be_laid_out_is_refused_with_a_sentence(tmp_path, files, says):
    with pytest.raises(GraderError, match=says):
        hand_in.lay(as_zip(tmp_path, files), tmp_path / "tree", read(tmp_path))


def test_a_file_that_is_no_archive_is_refused(tmp_path):
    made = read(tmp_path)
    for name, text in (("a.zip", "PK\x03\x04 broken"), ("b.tar.gz", "no tar")):
        with pytest.raises(GraderError, match=r"a \.zip or a \.tar\.gz"):
            hand_in.lay(put(tmp_path / name, text), tmp_path, made)
    with pytest.raises(GraderError, match="cannot be read"):
        hand_in.lay(tmp_path / "none.zip", tmp_path, made)


class Zeros(io.RawIOBase):
    """As many bytes as anybody wants."""

    def read(self, size: int = -1) -> bytes:
        return bytes(size)


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz"])
def test_an_archive_that_unpacks_without_end_is_refused(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(opened, "MOST_BYTES", 10 << 20)
    file = tmp_path / f"alice.tar.{kind}"
    with tarfile.open(file, f"w:{kind}") as archive:
        entry = tarfile.TarInfo("zeros")  # it does not count: nobody asks for it
        entry.size = 64 << 20
        archive.addfile(entry, Zeros())
    assert file.stat().st_size < 1 << 20
    with pytest.raises(GraderError, match="unpacks to more than 10 MiB"):
        hand_in.lay(file, tmp_path / "tree", read(tmp_path))


def test_a_file_in_a_zip_that_is_larger_than_it_claims(tmp_path, monkeypatch):
    monkeypatch.setattr(opened, "MOST_BYTES", 1 << 20)
    file = tmp_path / "alice.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(GELU, bytes(64 << 20))
    data = bytearray(file.read_bytes())
    for at in (data.index(b"PK\3\4") + 22, data.index(b"PK\1\2") + 24):
        data[at : at + 4] = (10).to_bytes(4, "little")  # bytes unpacked
    file.write_bytes(data)
    tracemalloc.start()
    with pytest.raises(GraderError, match="it cannot be read"):
        hand_in.lay(file, tmp_path / "tree", read(tmp_path))
    assert tracemalloc.get_traced_memory()[1] < 16 << 20
    tracemalloc.stop()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_one_file_many_times_in_a_zip_is_read_up_to_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(opened, "MOST_BYTES", 10 * LARGEST)
    file = tmp_path / "alice.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for _ in range(20):
            archive.writestr(GELU, bytes(LARGEST))
    with pytest.raises(GraderError, match="unpacks to more than"):
        hand_in.lay(file, tmp_path / "tree", read(tmp_path))


def test_an_archive_that_takes_too_long_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(opened, "MOST_SECONDS", 0.0)
    with pytest.raises(GraderError, match="takes more than 0 s to unpack: hand in"):
        hand_in.lay(as_tar(tmp_path, FILES), tmp_path / "tree", read(tmp_path))


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
    with pytest.raises(GraderError, match=r"\.zip or \.tar\.gz.*it cannot be read: "):
        hand_in.lay(file, tmp_path / "tree", read(tmp_path))


@pytest.mark.parametrize(
    "name",
    ["07_ü.c", "٠٧_seven.c", "07_a\n.c", "07_a;id.c", "07_$(id).c", "07_ .c", "7_a.c"],
)
def test_a_file_with_a_strange_name_does_not_count(tmp_path, name):
    files = {GELU: "mine", f"labs/02_naive_c/gelu/{name}": "what is it?"}
    made = read(tmp_path)
    laid = hand_in.lay(as_zip(tmp_path, files), tmp_path / "t", made)
    assert laid.names == (GELU,)
    (why,) = laid.left.values()
    assert "two digits and an idea" in why


# ---- why a file does not count -------------------------------------------------------

NOT_OFFERED = counted_files.NOT_OFFERED
LAB_05 = "labs/05_torch_extension"
STRANGE = (
    "expected a name of two digits and an idea in small letters, like 00_definition"
)
NOT_COUNTED = {
    "labs/02_naive_c/gelu/00_definition (1).c": f"{STRANGE}.c",
    "labs/02_naive_c/gelu/00_definition copy.c": f"{STRANGE}.c",
    "labs/02_naive_c/gelu/00_Definition.c": f"{STRANGE}.c",
    "labs/02_naive_c/gelu/01_mine.cpp": "a file of 02_naive_c ends with .c",
    "labs/02_naive_c/gelu/01_mine.py": "a file of 02_naive_c ends with .c",
    "labs/02_naive_c/gelu/00_definition.C": "a file of 02_naive_c ends with .c",
    "labs/02_naive_c/gelu/00_definition.c.txt": "a file of 02_naive_c ends with .c",
    "labs/02_naive_c/gelu/Copy of 00_definition.c": f"{STRANGE}.c",
    "labs/02_naive_c/00_definition.c": counted_files.UNKNOWN,
    "labs/02_naive_c/gelu/old/00_definition.c": counted_files.UNKNOWN,
    "labs/02_naive_c/gelu/operators.h": counted_files.UNKNOWN,
    "labs/02_naive_c/lab.toml": counted_files.UNKNOWN,
    f"{LAB_05}/convlab_ext/gelu (1).py": counted_files.UNKNOWN,
    "labs/02_naive_c/gelu/._00_definition.c": counted_files.BY_MACOS,
    "labs/02_naive_c/linear/00_definition.c": NOT_OFFERED.format("02_naive_c/linear"),
    "labs/02_naive_c/bug_hunt/00_x.c": NOT_OFFERED.format("02_naive_c/bug_hunt"),
    f"{LAB_05}/convlab_ext/gelu.py": NOT_OFFERED.format("05_torch_extension/gelu"),
    f"{LAB_05}/csrc/pybind/add.cpp": counted_files.FIRST_STEP,
    f"{LAB_05}/convlab_ext/_rules.py": counted_files.UNKNOWN,
    "00_definition.c": counted_files.ELSEWHERE,
}


@pytest.mark.parametrize("name", NOT_COUNTED)
def test_a_file_that_does_not_count_is_listed_with_its_reason(tmp_path, name):
    laid = hand_in.lay(
        as_zip(tmp_path, {GELU: "mine", name: "x"}), tmp_path / "tree", read(tmp_path)
    )
    assert laid.names == (GELU,) and laid.left == {name: NOT_COUNTED[name]}
    (line,) = laid.lines
    assert line == f"not graded, {NOT_COUNTED[name]}: {name}"


def test_links_and_too_large_files_are_listed_and_cost_no_other_file(tmp_path):
    made = read(tmp_path)
    for pack in (as_tar, as_folder):
        files = {GELU: "mine", ADD: "x" * (LARGEST + 1)}
        laid = hand_in.lay(pack(tmp_path / pack.__name__, files), tmp_path / "t", made)
        assert laid.names == (GELU,)
        assert laid.left[ADD] == f"it is larger than {LARGEST} bytes"
        links = [path for path, why in laid.left.items() if why == opened.LINK]
        assert links == (
            [f"bob/{ADD}", f"bob/{GELU}"]
            if pack is as_tar
            else ["alice/labs/02_naive_c/gelu/08_link.c"]
        )


def test_other_files_are_listed_by_folder_and_a_name_stays_in_its_line(tmp_path):
    files = {f"alice/{GELU}": "mine", "alice/a\nb.txt": "", "__MACOSX/a/b": ""}
    files |= {f"alice/.venv/lib/{i}.py": "" for i in range(1200)}
    laid = hand_in.lay(as_zip(tmp_path, files), tmp_path / "t", read(tmp_path))
    assert sorted(laid.left) == ["__MACOSX/", "alice/.venv/", "alice/a\nb.txt"]
    assert not [line for line in laid.lines if "\n" in line]


def test_a_file_that_the_handout_has_is_not_listed_and_no_work(tmp_path):
    tree, made = tmp_path / "tree", read(tmp_path)
    handout = {GELU: "a starter", "Makefile": "grade:", ADD: "another one"}
    lines = [f"{sha256(handout[n].encode()).hexdigest()}  {n}\n" for n in handout]
    put(tree / "MANIFEST", "".join(lines))
    files = {f"alice/{name}": handout[name] for name in handout} | {f"alice/{ADD}": "x"}
    laid = hand_in.lay(as_zip(tmp_path, files), tree, made)
    assert laid.names == (ADD, GELU) and not laid.left
    assert set(laid.written) == {"01_python_function/add"}


@pytest.mark.parametrize(
    "name", [GELU.replace("/", "\\"), f"C:\\a/{GELU}", GELU.removeprefix("labs/")]
)
def test_backslashes_are_slashes_and_the_folder_labs_may_be_missing(tmp_path, name):
    file = as_zip(tmp_path, {name: "mine"})
    assert hand_in.lay(file, tmp_path / "t", read(tmp_path)).names == (GELU,)


@pytest.mark.parametrize("mark", opened.OTHERS)
def test_another_kind_of_archive_is_refused_with_its_name(tmp_path, mark):
    file = tmp_path / "a.rar"
    file.write_bytes(mark + b"...")
    with pytest.raises(
        GraderError, match=f"it is {opened.OTHERS[mark]}; ask the student"
    ):
        hand_in.lay(file, tmp_path / "t", read(tmp_path))


# ---- every file of every task, however it is handed in -------------------------------


def course_of_everything() -> Course:
    """All tasks of all labs, with their bug hunts, in one part."""
    offers = tuple(Offer(task.id, 1) for task in all_tasks())
    begins = datetime(2026, 11, 1, tzinfo=UTC)
    return Course("all", "All", begins, (Part("one", "One", begins, offers=offers),))


def references() -> dict[str, Path]:
    """The reference of every task: what is graded of what students write."""
    files = {
        os.path.relpath(file, ROOT): file
        for task in all_tasks()
        for rung in task.rungs
        for file in (rung.file, *rung.also)
    }
    return {name: files[name] for name in files if handout.theirs(name)}


def in_gradescope(folder: Path, files: dict[str, str]) -> Path:
    """Gradescope unpacks a zip; a .tar.gz, as COURSE.md says, stays as it is."""
    place = folder / "submission"
    place.mkdir(parents=True)
    return as_tar(place, files, links=False).parent


def in_autolab(folder: Path, files: dict[str, str]) -> Path:
    """Autolab calls every file so."""
    return as_tar(folder, files, links=False).rename(folder / "handin.zip")


@pytest.mark.parametrize("pack", [as_folder, as_zip, as_tar, in_gradescope, in_autolab])
def test_every_file_of_every_reference_is_laid_out(tmp_path, pack):
    files = references()
    folders = {tuple(Path(name).parts[1:3]) for name in files}
    hunts = {lab for lab, folder in folders if folder == HUNT}
    assert len(files) > 180 and len(hunts) == 5
    assert {f"{LAB_05}/convlab_ext/{name}.py" for name in SIGNATURES} <= set(files)
    texts = {name: file.read_text(encoding="utf-8") for name, file in files.items()}
    laid = hand_in.lay(pack(tmp_path, texts), tmp_path / "tree", course_of_everything())
    assert laid.names == tuple(sorted(files))
    for name, file in files.items():
        assert (tmp_path / "tree" / name).read_bytes() == file.read_bytes(), name
    assert set(laid.written) == {task.id for task in all_tasks()}


def test_a_file_that_several_operators_share_is_work_on_those_that_use_it():
    made = course_of_everything()
    mine = counted_files.tasks_of(f"{LAB_05}/convlab_ext/_bilinear.py", made)
    used = {task.removeprefix("05_torch_extension/") for task in mine}
    assert used == {"matmul", "linear", "conv2d", "depthwise_conv2d"}


# ---- hosts ---------------------------------------------------------------------------


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
    assert cli.run("autograde") == 0
    answer = (tmp_path / "to").read_text()
    assert says in answer
    last = json.loads(answer if host == "gradescope" else answer.splitlines()[-1])
    assert last.get("score", 0) == 0 and not last.get("scores")
    capsys.readouterr()


def test_a_host_that_nobody_knows_and_a_tree_of_no_course_are_refused(monkeypatch):
    monkeypatch.setenv("HOST", "moodle")
    with pytest.raises(GraderError, match="must be gradescope or autolab"):
        cli.run("autograde")
    monkeypatch.setenv("HOST", "autolab")
    monkeypatch.setenv("FROM", "x")
    with pytest.raises(GraderError, match="was not made for a course"):
        cli.run("autograde")
