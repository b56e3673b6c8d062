# SPDX-License-Identifier: MIT
"""Lists who will be graded. For everyone else a sentence says why not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from grader.batch.attempts import Work
from grader.batch.downloads.download import Attempt
from grader.course.handed.laid import Laid
from grader.errors import GraderError

Files = Mapping[str, bytes]  # place in a tree -> contents


@dataclass(frozen=True)
class Job:
    """A submission that can be graded."""

    id: str  # of the student, the files and the graders: what is equal is graded once
    students: tuple[str, ...]  # several: a team
    laid: Laid
    attempt: Attempt = field(compare=False)


@dataclass(frozen=True)
class Refused:
    """A submission that cannot be graded."""

    students: tuple[str, ...]
    why: str


def planned(
    works: Iterable[Work],
    chosen: Callable[[Work], list[Attempt]],
    taken: Callable[[Path], tuple[Laid, Files]],
    grader: str,
) -> Iterator[tuple[Job, Files] | Refused]:
    """A job for each attempt that is graded, or a refusal, one after the other: files
    may be large. `grader` stands for all that gives the verdicts.
    """
    for work in works:
        count, why = 0, ""
        try:
            attempts = chosen(work)
        except GraderError as error:
            attempts, why = [], str(error)
        for attempt in attempts:
            try:
                laid, contents = taken(attempt.source)
            except GraderError as error:
                why = str(error)
                continue
            count += 1
            id_ = _id(work.students, laid, contents, grader)
            yield Job(id_, work.students, laid, attempt), contents
        if not count:
            yield Refused(work.students, why)


def _id(students: tuple[str, ...], laid: Laid, files: Files, grader: str) -> str:
    digests = {name: hashlib.sha256(files[name]).hexdigest() for name in sorted(files)}
    words = json.dumps([grader, students, digests, dict(laid.left)])
    return hashlib.sha256(words.encode()).hexdigest()[:24]
