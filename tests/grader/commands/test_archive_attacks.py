# SPDX-License-Identifier: MIT
"""Archives and folders that were made to harm whoever lays them out."""

from __future__ import annotations

import io
import os
import stat
import tarfile
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from grader.course.handed import opened
from grader.course.tasks import LARGEST
from grader.engine.marks import hand_in
from grader.errors import GraderError
from tests import put
from tests.grader.course.offered import read

GELU = "labs/02_naive_c/gelu/00_definition.c"
HUGE = 64 << 30  # bytes


def entry(name: str, data: bytes, **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    """A member of a tar, with other fields than its data would give it."""
    made = tarfile.TarInfo(name)
    made.size = len(data)
    for field, value in fields.items():
        setattr(made, field, value)
    return made, data


def packed(file: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    """A tar, compressed as its name says, in the format that allows all of it."""
    kind = file.suffix.removeprefix(".")
    with tarfile.open(file, f"w:{kind}", format=tarfile.PAX_FORMAT) as archive:
        for about, data in members:
            archive.addfile(about, io.BytesIO(data))
    return file


SPARSE = {
    "0.1": {"GNU.sparse.size": f"{HUGE}", "GNU.sparse.map": f"{HUGE - 1},1"},
    "0.1, a lie": {"GNU.sparse.size": "4", "GNU.sparse.map": f"{HUGE - 1},1"},
    "1.0": {
        "GNU.sparse.major": "1",
        "GNU.sparse.minor": "0",
        "GNU.sparse.realsize": f"{HUGE}",
    },
    "a size below nothing": {"size": "-512"},
    "a size of 5000 digits": {"GNU.sparse.size": "9" * 5000},
}

LARGE = {GELU: f"it is larger than {LARGEST} bytes"}
LEFT = {"0.1": LARGE, "1.0": LARGE, "0.1, a lie": {}}
LAID = {"0.1": {}, "1.0": {}, "0.1, a lie": {GELU: bytes(4)}}  # 4 bytes of a hole
_UNREADABLE = r"^alice\.tar\.gz cannot be read as a folder, a \.zip or a \.tar\.gz: "
REFUSED = {  # tarfile's words; later versions of Python look at the size
    "a size below nothing": f"{_UNREADABLE}(seeking backwards|invalid offset)",
    "a size of 5000 digits": f"{_UNREADABLE}Exceeds the limit .* 5000 digits",
}


@pytest.mark.parametrize("kind", SPARSE)
def test_a_file_with_holes_takes_no_memory(tmp_path, kind):
    data = f"1\n{HUGE - 1}\n1\n".encode().ljust(512, b"\0") + b"x"
    hollow = entry(GELU, data, pax_headers=SPARSE[kind])
    other = entry(GELU.replace("00_d", "07_d"), b"mine")
    file = packed(tmp_path / "alice.tar.gz", other, hollow)
    tracemalloc.start()
    if kind in REFUSED:
        with pytest.raises(GraderError, match=REFUSED[kind]):
            hand_in.lay(file, tmp_path / "tree", read(tmp_path))
    else:
        laid = hand_in.lay(file, tmp_path / "tree", read(tmp_path))
        assert laid.left == LEFT[kind]
        bytes_of = {
            name: (tmp_path / "tree" / name).read_bytes() for name in laid.names
        }
        assert bytes_of == {GELU.replace("00_d", "07_d"): b"mine", **LAID[kind]}
    assert tracemalloc.get_traced_memory()[1] < 64 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE])
def test_a_name_as_large_as_the_archive_takes_no_memory(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(opened, "MOST_BYTES", 512 << 20)
    long = entry("././@LongLink", b"a" * (256 << 20), type=kind)
    file = packed(tmp_path / "alice.tar.gz", long, entry(GELU, b"mine"))
    assert file.stat().st_size < 1 << 20
    del long
    tracemalloc.start()
    with pytest.raises(GraderError, match=r"alice\.tar\.gz"):
        hand_in.lay(file, tmp_path / "tree", read(tmp_path))
    assert tracemalloc.get_traced_memory()[1] < 64 << 20
    tracemalloc.stop()


def test_a_link_in_a_zip_is_a_link(tmp_path):
    file = tmp_path / "alice.zip"
    with zipfile.ZipFile(file, "w") as archive:
        link = zipfile.ZipInfo(GELU)
        link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr(GELU.replace("00_d", "07_d"), "mine")
    laid = hand_in.lay(file, tmp_path / "tree", read(tmp_path))
    assert list(laid.left) == [GELU]
    assert laid.left[GELU] == opened.LINK


def test_a_folder_deeper_than_a_path_may_be_is_refused_or_left(tmp_path):
    put(tmp_path / "sent" / GELU, "mine")
    here = os.open(tmp_path / "sent", os.O_RDONLY)
    for _ in range(30):
        os.mkdir("d" * 200, dir_fd=here)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    try:
        laid = hand_in.lay(tmp_path / "sent", tmp_path / "tree", read(tmp_path))
        assert laid.names == (GELU,)
    except GraderError as refused:
        assert "cannot be read" in str(refused)


def test_a_pipe_and_a_device_in_a_folder_hang_nobody(tmp_path):
    put(tmp_path / "sent" / GELU, "mine")
    pipe = GELU.replace("00_d", "07_d")
    os.mkfifo(tmp_path / "sent" / pipe)
    laid = hand_in.lay(tmp_path / "sent", tmp_path / "tree", read(tmp_path))
    assert laid.names == (GELU,) and laid.left[pipe] == opened.DEVICE
