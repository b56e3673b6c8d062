# SPDX-License-Identifier: MIT
"""A submission, laid into a clean tree and graded there.

Of what was handed in only the files count that students write, of the tasks that the
course offers: no Makefile, no lab.toml, no header, no link.
"""

from __future__ import annotations

import io
import json
import lzma
import os
import stat
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from grader.commands.handout import RUNG
from grader.course.offered.course_file import Course
from grader.course.tasks import LARGEST, id_of
from grader.engine.results import unlike
from grader.errors import GraderError

ASIDE = {"kept", "solutions", "build", "__MACOSX"}  # folders beside a student's labs
SECONDS = 4 * 3600  # a grading: each of its checks has a limit of its own
MOST = 1000  # files
DAMAGED = (  # what reading an archive raises: cut off, another method, a password
    *(OSError, EOFError, ValueError, RuntimeError, zlib.error, lzma.LZMAError),
    *(zipfile.BadZipFile, tarfile.TarError),
)


def lay(source: Path, tree: Path, made: Course) -> list[str]:
    """Copy a submission's files, from a folder or an archive, over the starters; their
    names. Raises GraderError if it has none, or two for one place.
    """
    found: dict[str, bytes] = {}
    for path, data in _members(source):
        name = _name(path)
        if name is None or id_of(name).rpartition("/")[0] not in made.offers:
            continue
        if found.get(name, data) != data:
            raise GraderError(
                f"the submission has two different files {name}; hand in one folder "
                "labs"
            )
        found[name] = data
    if not found:
        raise GraderError(
            "the submission has no file of the course: hand in the folder labs as a "
            ".zip or .tar.gz, with its files in labs/<lab>/<operator>/"
        )
    for name, data in found.items():
        file = tree / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return sorted(found)


def _name(path: str) -> str | None:
    """Where a member belongs in a tree; None for what does not count."""
    parts = PurePosixPath(path).parts
    if "labs" not in parts or ".." in parts:
        return None
    place = parts.index("labs")
    name = "/".join(parts[place:])
    if ASIDE & set(parts[:place]) or not RUNG.fullmatch(name):
        return None
    return name


def _members(source: Path) -> Iterator[tuple[str, bytes]]:
    """Plain files of a sensible size, one after the other."""
    try:
        for number, (path, size, data) in enumerate(_entries(source)):
            if number == MOST:
                raise GraderError(f"{source} has more than {MOST} files")
            if _name(path) is not None:
                if size > LARGEST:
                    raise GraderError(f"{path} is larger than {LARGEST} bytes")
                yield path, data()
    except DAMAGED as error:
        raise GraderError(
            f"{source} cannot be read as a folder, a .zip or a .tar.gz: {error}"
        ) from error


def _entries(source: Path) -> Iterator[tuple[str, int, Any]]:
    """Path, size, and a function that reads the file. Links are left out."""
    if source.is_dir():
        for file in sorted(source.rglob("*")):
            if stat.S_ISREG(file.lstat().st_mode):
                name = file.relative_to(source).as_posix()
                yield name, file.stat().st_size, file.read_bytes
        return
    data = io.BytesIO(source.read_bytes())
    if zipfile.is_zipfile(data):
        with zipfile.ZipFile(data) as archive:
            for info in archive.infolist():
                mode = info.external_attr >> 16
                if not info.is_dir() and not stat.S_ISLNK(mode):
                    yield (
                        info.filename,
                        info.file_size,
                        lambda i=info: archive.read(i),
                    )
        return
    data.seek(0)
    with tarfile.open(fileobj=data) as tar:
        for entry in tar:
            if entry.isfile():
                yield (
                    entry.name,
                    entry.size,
                    lambda e=entry: _bytes(tar.extractfile(e)),
                )


def _bytes(file: Any) -> bytes:
    return file.read() if file else b""


def grade(tree: Path, build: Path, made: Course) -> dict[str, Any]:
    """Grade a tree in a process of its own, with the hidden seed if there is one: the
    contents of its results.json. Raises GraderError if there is none.
    """
    command = [sys.executable, "-m", "grader", "grade"]
    command += ["--seed", str(made.hidden.seeds[0])] if made.hidden.seeds else []
    paths = (tree, tree / "common" / "python", tree / "grader" / "python")
    place = {
        "CONVLAB_BUILD": str(build),
        "FRESH": "1",
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        **({} if made.speed else {"SPEED": "off"}),
    }
    build.mkdir(parents=True, exist_ok=True)
    with (build / "grade.log").open("wb") as log:
        try:
            done = subprocess.run(
                command,
                cwd=tree,
                env={**os.environ, **place},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                timeout=SECONDS,
            )
        except subprocess.TimeoutExpired as error:
            raise GraderError(f"grading took longer than {SECONDS} seconds") from error
    file = build / "grade" / "results.json"
    if not file.is_file():
        said = (build / "grade.log").read_text(errors="replace").strip().splitlines()
        last = said[-1] if said else f"status {done.returncode}, and no word"
        raise GraderError(f"nothing was graded: {last}")
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    if wrong := unlike(found):
        raise GraderError(f"{file} is not what the grader writes: {wrong}")
    return found
