# SPDX-License-Identifier: MIT
"""Reads a folder of clones, as `gh classroom clone student-repos` makes it.

- All clones lie in a folder that is called ASSIGNMENT-submissions (github/gh-classroom,
  cmd/gh-classroom/clone/student-repos/student-repos.go).
- A repository is called ASSIGNMENT-USER, for a team ASSIGNMENT-TEAM
  (https://github.com/Birkbeck2 shows an example).
- The times of commits come from the student's machine, and git does not check them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from itertools import takewhile
from pathlib import Path

from grader.batch.downloads import commits
from grader.batch.downloads.download import Attempt, Download, HandIn
from grader.course.handed.inbox import named

ENDING = "-submissions"
TIMES = (
    "The times are the times of the last commits. A student's machine wrote them, and "
    "git does not check them"
)


def read(folder: Path, entries: Sequence[Path], work: Path) -> Download | None:
    """The work in these clones; None unless each folder is one. Commits are unpacked
    into the folder `work`.
    """
    clones = [entry for entry in entries if entry.is_dir()]
    if not clones or not all((clone / ".git").is_dir() for clone in clones):
        return None
    begin = _begin(folder, [clone.name for clone in clones])
    hand_ins = (
        _hand_in(clone, clone.name.removeprefix(begin), work) for clone in clones
    )
    return Download(tuple(hand_ins), (TIMES,))


def _begin(folder: Path, names: list[str]) -> str:
    """What the names of all clones begin with: the assignment's name and a hyphen."""
    named_so = f"{folder.name.removesuffix(ENDING)}-"
    if folder.name.endswith(ENDING) and all(n.startswith(named_so) for n in names):
        return named_so
    words = zip(*(name.split("-") for name in names)) if len(names) > 1 else ()
    same = takewhile(lambda column: len(set(column)) == 1, words)
    return "".join(f"{column[0]}-" for column in same)


def _hand_in(clone: Path, user: str, work: Path) -> HandIn:
    name = named(user)
    marks = {"github": name, "id": name, "name": name, "team": name}
    when = commits.last_time(clone)
    before = partial(_before, clone, work)
    return HandIn((marks,), (Attempt(clone, when),), before=before)


def _before(clone: Path, work: Path, moment: datetime) -> Attempt | None:
    """The files of the last commit that is not later than this."""
    sha = commits.last_before(clone, moment)
    if not sha:
        return None
    file = work / f"{clone.name}-{sha}.tar"
    commits.unpacked(clone, sha, file)
    said = f"commit {sha[:7]}"
    return Attempt(file, commits.time_of(clone, sha), said=said)
