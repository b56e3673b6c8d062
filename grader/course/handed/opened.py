# SPDX-License-Identifier: MIT
"""Reads a submission file by file, from a folder, a .zip or a .tar.gz.

A student chose the names and contents. So a name may be any text, and nothing is
unpacked here. A small archive may hold terabytes. So a Meter counts the bytes that are
read, and stops after a limit.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import tarfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from grader.course.foreign import one_line
from grader.errors import GraderError

MOST = 100_000  # files
MOST_BYTES = 1 << 30  # unpacked; what counts are a few files of source
MOST_SECONDS = 60.0
LONGEST_NAME = 1 << 16  # bytes; tarfile takes a name, or what a header says, at once
LONGEST_LIST = 8 << 20  # bytes; zipfile takes the names of all files at once
PIECE = 1 << 16  # bytes
PACKED: dict[bytes, Callable[..., Any]] = {  # how a compressed stream begins
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
ENDINGS = (".zip", ".tar.gz", ".tgz", ".tar", ".tar.xz", ".tar.bz2", ".rar", ".7z")
OTHERS = {b"Rar!\x1a\x07": "a RAR archive", b"7z\xbc\xaf\x27\x1c": "a 7z archive"}
SUPPLEMENTS = (  # entries that say something about the next one
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
)
LINK = "a link: hand in the file itself"
DEVICE = "no plain file"
DAMAGED = (  # what reading an archive raises: cut off, another method, a password
    *(OSError, EOFError, ValueError, RuntimeError, zlib.error, lzma.LZMAError),
    *(zipfile.BadZipFile, tarfile.TarError),
)


def _no_pieces() -> Iterator[bytes]:
    return iter(())


@dataclass(frozen=True)
class Member:
    """A file that was handed in."""

    path: str  # with slashes; not checked
    size: int = 0  # bytes
    pieces: Callable[[], Iterator[bytes]] = _no_pieces
    wrong: str = ""  # why it cannot be read: a link

    def read(self) -> bytes:
        """The contents."""
        return b"".join(self.pieces())


class Meter:
    """How much of an archive has been read, and since when."""

    def __init__(self, archive: Path) -> None:
        self._name = one_line(archive.name)
        self._left, self._end = MOST_BYTES, time.monotonic() + MOST_SECONDS

    def counted(self, data: bytes) -> bytes:
        """The data. Raises GraderError if there was too much, or it took too long."""
        self._left -= len(data)
        if self._left < 0:
            much = f"unpacks to more than {MOST_BYTES >> 20} MiB"
        elif time.monotonic() > self._end:
            much = f"takes more than {MOST_SECONDS:.0f} s to unpack"
        else:
            return data
        raise GraderError(f"{self._name} {much}: hand in only the folder labs")


@dataclass(frozen=True)
class _Metered:
    """A stream that tarfile reads."""

    stream: Any
    meter: Meter

    def read(self, size: int) -> bytes:
        return self.meter.counted(self.stream.read(size))


def members(source: Path) -> Iterator[Member]:
    """The files one after the other. A member can be read until the next one comes.

    Raises GraderError for what is no folder and no archive, or is damaged.
    """
    shown = one_line(source.name or str(source))
    try:
        archive = _only_archive(source)
        shown = one_line((archive or source).name or str(source))
        for number, member in enumerate(_members(source, archive)):
            if number == MOST:
                raise GraderError(
                    f"{shown} has more than {MOST} files: hand in only the folder labs"
                )
            yield member
    except DAMAGED as error:
        raise GraderError(
            f"{shown} cannot be read as a folder, a .zip or a .tar.gz: {error}"
        ) from error


def _members(source: Path, archive: Path | None) -> Iterator[Member]:
    if archive:
        yield from _of_archive(archive)
        yield from (one for one in _of_folder(source) if one.path != archive.name)
    elif source.is_dir():
        yield from _of_folder(source)
    elif source.is_file():
        yield from _of_archive(source)
    else:
        raise FileNotFoundError("there is no such file or folder")


def _only_archive(folder: Path) -> Path | None:
    """The one archive in a folder without folders: a platform made the folder."""
    if not folder.is_dir():
        return None
    inside = [file for file in folder.iterdir() if not file.name.startswith(".")]
    archives = [file for file in inside if stem(file.name)]
    if len(archives) != 1 or any(file.is_symlink() or file.is_dir() for file in inside):
        return None
    return archives[0]


def stem(name: str) -> str:
    """An archive's name without its ending; "" if the name is not that of one."""
    ends = [end for end in ENDINGS if name.lower().endswith(end)]
    return name[: -max(map(len, ends))] if ends else ""


def _of_folder(source: Path) -> Iterator[Member]:
    for folder, below, files in os.walk(source, onerror=_raise):
        below[:] = sorted(name for name in below if name != ".git")
        links = [name for name in below if (Path(folder) / name).is_symlink()]
        for file in (Path(folder) / name for name in sorted([*files, *links])):
            path, state = file.relative_to(source).as_posix(), file.lstat()
            if stat.S_ISREG(state.st_mode):
                yield Member(path, state.st_size, partial(_pieces, file))
            else:
                link = stat.S_ISLNK(state.st_mode)
                yield Member(path, wrong=LINK if link else DEVICE)


def _pieces(file: Path) -> Iterator[bytes]:
    with file.open("rb") as opened:
        yield from iter(lambda: opened.read(PIECE), b"")


def _raise(error: OSError) -> None:
    raise error


def _of_archive(source: Path) -> Iterator[Member]:
    with source.open("rb") as file:
        head = file.read(max(map(len, OTHERS)))
    for mark, kind in OTHERS.items():
        if head.startswith(mark):
            raise ValueError(
                f"it is {kind}; ask the student for a .zip or a .tar.gz, or unpack it"
            )
    return _of_zip(source) if zipfile.is_zipfile(source) else _of_tar(source)


def _of_zip(source: Path) -> Iterator[Member]:
    meter = Meter(source)
    with (
        _Listed(source.open("rb", buffering=0)) as file,
        zipfile.ZipFile(file) as archive,
    ):
        for info in archive.infolist():
            path = info.filename.replace("\\", "/")  # some programs for Windows
            if stat.S_ISLNK(info.external_attr >> 16):
                yield Member(path, wrong=LINK)
            elif not path.endswith("/"):
                pieces = partial(_unpacked, archive, info, meter)
                yield Member(path, info.file_size, pieces)


class _Listed(io.BufferedReader):
    """A zip whose list of files is not too long. Everything else is read in pieces."""

    def read(self, size: int | None = -1) -> bytes:
        if size is not None and size > LONGEST_LIST:
            raise ValueError(f"its list of files has {size} bytes")
        return super().read(size)


def _unpacked(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, meter: Meter
) -> Iterator[bytes]:
    """A file's contents, counted piece by piece: the size it claims may be a lie."""
    with archive.open(info) as file:
        yield from iter(lambda: meter.counted(file.read(PIECE)), b"")


def _of_tar(source: Path) -> Iterator[Member]:
    with source.open("rb") as file:
        head = file.read(max(map(len, PACKED)))
    unpacks = (opener for mark, opener in PACKED.items() if head.startswith(mark))
    opened = next(unpacks, open)(source, "rb")
    with opened as stream, _tar(_Metered(stream, Meter(source))) as tar:
        for entry in tar:
            if entry.isfile():
                yield Member(entry.name, entry.size, _reader(tar, entry))
            elif not entry.isdir():
                link = entry.issym() or entry.islnk()
                yield Member(entry.name, wrong=LINK if link else DEVICE)


class _Entry(tarfile.TarInfo):
    """An entry of a tar, or the name or header of the next one."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Entry:
        """Of a block of 512 bytes. Raises ValueError for a name without an end."""
        entry = super().frombuf(buf, encoding, errors)
        if entry.type in SUPPLEMENTS and entry.size > LONGEST_NAME:
            raise ValueError(
                f"the archive has a file name that is too long ({entry.size} bytes)"
            )
        return entry


def _tar(stream: Any) -> tarfile.TarFile:
    try:
        return tarfile.open(fileobj=stream, mode="r|", tarinfo=_Entry)  # forwards
    except tarfile.ReadError as error:
        raise ValueError("it has another format, or it is damaged") from error


def _reader(tar: tarfile.TarFile, entry: Any) -> Callable[[], Iterator[bytes]]:
    def pieces() -> Iterator[bytes]:
        file = tar.extractfile(entry)
        yield from iter(lambda: file.read(PIECE) if file else b"", b"")

    return pieces
