# SPDX-License-Identifier: MIT
"""Lists who will be graded. For everyone else a sentence says why not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.course.handed import inbox
from grader.course.handed.laid import Laid
from grader.errors import GraderError

Files = Mapping[str, bytes]  # place in a tree -> contents


@dataclass(frozen=True)
class Job:
    """A submission that can be graded."""

    id: str  # of the student, the files and the graders: what is equal is graded once
    student: str
    laid: Laid


@dataclass(frozen=True)
class Refused:
    """A submission that cannot be graded."""

    student: str
    why: str


def planned(
    found: Mapping[str, list[Path]],
    taken: Callable[[Path], tuple[Laid, Files]],
    grader: str,
) -> Iterator[tuple[Job, Files] | Refused]:
    """A job or a refusal for each student, one after the other: files may be large.
    `grader` stands for all that gives the verdicts.
    """
    for student, files in found.items():
        try:
            laid, contents = taken(inbox.only(files))
        except GraderError as error:
            yield Refused(student, str(error))
            continue
        yield Job(_id(student, laid, contents, grader), student, laid), contents


def _id(student: str, laid: Laid, files: Files, grader: str) -> str:
    digests = {name: hashlib.sha256(files[name]).hexdigest() for name in sorted(files)}
    words = json.dumps([grader, student, digests, dict(laid.left)])
    return hashlib.sha256(words.encode()).hexdigest()[:24]
