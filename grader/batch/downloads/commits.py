# SPDX-License-Identifier: MIT
"""Asks git about a clone that a student may have prepared.

git runs programs that a repository's configuration names. So here git never sees the
clone's configuration. It runs in a new, empty repository. There it reads the
clone's objects (GIT_OBJECT_DIRECTORY of git(1)). An object is data.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from grader.course.foreign import one_line
from grader.course.handed import opened
from grader.errors import GraderError

SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
BRANCH = re.compile(r"ref: (refs/heads/[^\s~^:?*\[\\]+)")
LONGEST = 1 << 22  # bytes of a file that names commits
SECONDS = 60
PIECE = 1 << 16  # bytes


def last_time(clone: Path) -> datetime | None:
    """The time of the last commit; None if there is none that git can read."""
    sha = _head(clone / ".git")
    return time_of(clone, sha) if sha else None


def time_of(clone: Path, sha: str) -> datetime | None:
    """The time of a commit; None if git cannot read it."""
    said = _said(clone, "log", "-1", "--format=%cI", sha)
    return datetime.fromisoformat(said) if said else None


def last_before(clone: Path, moment: datetime) -> str:
    """The last commit that is not later; "" if there is none."""
    sha = _head(clone / ".git")
    until = f"--until={moment.isoformat()}"
    return _said(clone, "rev-list", "-1", until, sha) if sha else ""


def unpacked(clone: Path, sha: str, file: Path) -> None:
    """Write the files of a commit as a tar. Raises GraderError for one without end."""
    meter = opened.Meter(clone)
    with _empty(clone) as place, file.open("wb") as tar:
        command = ["git", "archive", "--format=tar", sha]
        with subprocess.Popen(
            command,
            env=place,
            cwd=place["GIT_DIR"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            assert process.stdout
            try:
                while data := process.stdout.read(PIECE):
                    tar.write(meter.counted(data))
            finally:
                process.kill()


def _said(clone: Path, *words: str) -> str:
    """What git prints; "" if it fails."""
    with _empty(clone) as place:
        try:
            done = subprocess.run(
                ["git", *words],
                env=place,
                cwd=place["GIT_DIR"],
                capture_output=True,
                text=True,
                timeout=SECONDS,
            )
        except FileNotFoundError as error:
            raise GraderError("git is not installed: install it") from error
        except subprocess.TimeoutExpired as error:
            raise GraderError(
                f"git needs more than {SECONDS} s for {one_line(clone.name)}: look at "
                "this clone"
            ) from error
    return done.stdout.strip() if done.returncode == 0 else ""


@contextmanager
def _empty(clone: Path) -> Iterator[dict[str, str]]:
    """The environment of git, with an empty repository and the clone's objects."""
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "refs").mkdir()
        (Path(place) / "HEAD").write_text("ref: refs/heads/none\n")
        (Path(place) / "config").write_text("[core]\nrepositoryformatversion = 0\n")
        yield {
            "PATH": os.environ.get("PATH", os.defpath),
            "GIT_DIR": place,
            "GIT_OBJECT_DIRECTORY": str((clone / ".git" / "objects").resolve()),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
        }


def _head(git: Path) -> str:
    """The commit that is checked out; "" if there is none."""
    head = _text(git / "HEAD").strip()
    branch = BRANCH.fullmatch(head)
    if not branch or ".." in head:
        return head if SHA.fullmatch(head) else ""
    loose = _text(git / branch[1]).strip()
    if SHA.fullmatch(loose):
        return loose
    for line in _text(git / "packed-refs").splitlines():
        sha, _, name = line.partition(" ")
        if name == branch[1] and SHA.fullmatch(sha):
            return sha
    return ""


def _text(file: Path) -> str:
    """A short file's text; "" for a link and for what is no file."""
    if file.is_symlink() or not file.is_file() or file.stat().st_size > LONGEST:
        return ""
    return file.read_text(encoding="utf-8", errors="replace")
