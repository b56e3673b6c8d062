# SPDX-License-Identifier: MIT
"""A submission, laid into a clean tree and graded there.

Each file of it is laid over its starter, or is the same as in the handout, or is listed
with the reason why it does not count.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from grader.course.foreign import one_line
from grader.course.handed import counted_files, opened, renewal
from grader.course.handed.laid import Laid
from grader.course.handed.opened import DAMAGED, Member
from grader.course.offered.course_file import Course
from grader.course.tasks import LARGEST
from grader.engine.results import unlike
from grader.errors import INTERRUPTED, GraderError
from grader.toolchain import sandbox
from grader.toolchain.make import OWNER

SECONDS = 4 * 3600  # a grading: each of its checks has a limit of its own
MOST = 1000  # files of labs
MOST_BYTES = 16 * LARGEST  # of all files that count
LISTED = 8  # files of a submission in which none counts


def lay(source: Path, tree: Path, made: Course) -> Laid:
    """Copy a submission's files, from a folder or an archive, over the starters of a
    tree. Raises GraderError if it has none, or two for one place.
    """
    laid, files = taken(source, tree, made)
    put(files, tree)
    return laid


def taken(source: Path, tree: Path, made: Course) -> tuple[Laid, Mapping[str, bytes]]:
    """What counts of a submission for a tree, and the contents by place. Raises
    GraderError as `lay`.
    """
    handed_out = renewal.handed_out(tree)
    found, left = _sorted(source, handed_out, made)
    if not found:
        raise GraderError(_nothing(left))
    written: dict[str, dict[str, str]] = {}
    for name, data in found.items():
        digest = hashlib.sha256(data).hexdigest()
        if digest != handed_out.get(name):
            for task in counted_files.tasks_of(name, made):
                written.setdefault(task, {})[name] = digest
    return Laid(tuple(sorted(found)), written, left), found


def put(files: Mapping[str, bytes], folder: Path) -> None:
    """Write files at their places below a folder."""
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def _sorted(
    source: Path, handed_out: Mapping[str, str], made: Course
) -> tuple[dict[str, bytes], dict[str, str]]:
    """The files that count by their place; the others with the reasons, but for those
    that are as the handout had them.
    """
    found: dict[str, bytes] = {}
    left: dict[str, str] = {}
    for member in opened.members(source):
        path, why = counted_files.elsewhere(member.path)
        if name := counted_files.place_of(member.path):
            path, why = member.path, member.wrong or counted_files.why_not(name, made)
        if name and not why:
            data, why = _read(member)
            if not why and found.setdefault(name, data) != data:
                raise GraderError(
                    f"the submission has two different files {name}; hand in one "
                    "folder labs"
                )
        if why and not _as_handed_out(member, handed_out):
            left[path] = why
        if len(found) + len(left) > MOST:
            raise GraderError(
                f"{one_line(source.name)} has more than {MOST} files: hand in only the "
                "folder labs"
            )
        if sum(map(len, found.values())) > MOST_BYTES:
            raise GraderError(
                f"{one_line(source.name)} has more than {MOST_BYTES >> 20} MiB in "
                "files that count: hand in source files only"
            )
    return found, left


def _read(member: Member) -> tuple[bytes, str]:
    """A file's contents, or why it cannot be read."""
    if member.size > LARGEST:
        return b"", f"it is larger than {LARGEST} bytes"
    try:
        return member.read(), ""
    except DAMAGED as error:
        return b"", f"it cannot be read: {error}"


def _as_handed_out(member: Member, handed_out: Mapping[str, str]) -> bool:
    """Whether a file is one of the handout that nobody has changed."""
    parts = PurePosixPath(member.path).parts
    names = ("/".join(parts[i:]) for i in range(len(parts)))
    digests = {handed_out[name] for name in names if name in handed_out}
    return bool(digests) and hashlib.sha256(_read(member)[0]).hexdigest() in digests


def _nothing(left: Mapping[str, str]) -> str:
    listed = [f"{one_line(path)} ({why})" for path, why in left.items()]
    more = [f"{len(listed) - LISTED} more"] if len(listed) > LISTED else []
    said = f"; not taken: {', '.join([*listed[:LISTED], *more])}" if listed else ""
    return (
        "the submission has none of the files that the course asks for. Hand in the "
        "folder labs as a .zip or .tar.gz, with its files in "
        f"labs/<lab>/<operator>/{said}"
    )


class Ended(GraderError):
    """A grading was killed. This says nothing of the submission: grade it again."""


def outcome(tree: Path, build: Path, made: Course) -> tuple[dict[str, Any], str]:
    """What `grade` finds, and its report as a page; "" if it made none."""
    found = grade(tree, build, made)
    page = build / "grade" / "report.html"
    return found, page.read_text(encoding="utf-8") if page.is_file() else ""


def environment(tree: Path, build: Path) -> dict[str, str]:
    """For a process of the grader that a tree brings, which builds in this folder."""
    paths = (tree, tree / "common" / "python", tree / "grader" / "python")
    return {
        **os.environ,
        "CONVLAB_BUILD": str(build),
        OWNER: str(os.getpid()),
        sandbox.STRANGER: "1",
        **{"T": "", "LAB": "", "CHECK": "", "FRESH": "1"},
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
    }


def grade(tree: Path, build: Path, made: Course) -> dict[str, Any]:
    """Grade a tree in a process of its own, with the hidden seed if there is one: the
    contents of its results.json. Raises GraderError if there is none.
    """
    command = [sys.executable, "-m", "grader", "grade"]
    place = {"SEED": str(made.hidden.seeds[0]) if made.hidden.seeds else ""}
    place |= {} if made.speed else {"SPEED": "off"}
    build.mkdir(parents=True, exist_ok=True)
    with (build / "grade.log").open("wb") as log:
        try:
            done = subprocess.run(
                command,
                cwd=tree,
                env={**environment(tree, build), **place},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                timeout=SECONDS,
            )
        except subprocess.TimeoutExpired as error:
            raise GraderError(f"grading took longer than {SECONDS} seconds") from error
    if done.returncode == INTERRUPTED:  # Slurm asks all processes of a task to end
        raise Ended("somebody has ended the grading: grade this submission again")
    if done.returncode < 0:
        name = signal.Signals(-done.returncode).name
        raise Ended(f"the grading was ended by {name}: grade this submission again")
    file = build / "grade" / "results.json"
    if not file.is_file():
        said = (build / "grade.log").read_text(errors="replace").strip().splitlines()
        last = said[-1] if said else f"status {done.returncode}, and no message"
        raise GraderError(f"nothing was graded: {last}")
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    if wrong := unlike(found):
        raise GraderError(f"{file} was not written by the grader: {wrong}")
    return found
