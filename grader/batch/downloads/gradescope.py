# SPDX-License-Identifier: MIT
"""Reads what Gradescope gives for "Export Submissions" of a programming assignment.

Gradescope does not document this format. It was read in a published export, and in a
program that reads exports (https://github.com/ucbds-infra/otter-grader, otter/grade):

- Beside the folders lies submission_metadata.yml. Its keys are the folders' names:
  submission_12345.
- Each has :submitters: a list of :name:, :sid: and :email:, with all members of a team.
- :created_at: is the time of the hand-in, in UTC. :history: lists the other hand-ins,
  also later ones, each with its :created_at:, and without files.
- The folder has the files of the submission that is active on Gradescope, unpacked.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from grader.batch.downloads.download import Attempt, Download, HandIn
from grader.course.handed.inbox import named
from grader.errors import GraderError

METADATA = "submission_metadata.yml"
OTHERS_MISSING = (
    "Gradescope's export has only the files of each student's active submission"
)
NOT_LISTED = f"{METADATA} does not list this folder"
NO_FILES = "the export has no folder of this submission"
COLUMNS = {"id": ":sid", "email": ":email", "name": ":name"}


def read(folder: Path) -> Download | None:
    """The work in an export; None if the folder is none."""
    if not (folder / METADATA).is_file():
        return None
    about = _metadata(folder / METADATA)
    folders = {one.name: one for one in sorted(folder.iterdir()) if one.is_dir()}
    try:
        hand_ins = [_hand_in(about[key], folders.get(str(key))) for key in about]
    except (AttributeError, KeyError, TypeError) as error:
        raise GraderError(
            f"{METADATA} has another form than expected: {type(error).__name__}: "
            f"{error}. Export the submissions again"
        ) from error
    listed = {str(key) for key in about}
    for name in folders:
        if name not in listed and not name.startswith((".", "__")):
            hand_ins.append(HandIn(({"id": name, "name": name},), why=NOT_LISTED))
    earlier = any(one.attempts and one.attempts[0].of > 1 for one in hand_ins)
    return Download(tuple(hand_ins), (OTHERS_MISSING,) if earlier else ())


def _metadata(file: Path) -> Mapping[Any, Any]:
    """The file's table. Raises GraderError if it is none."""
    try:
        yaml = importlib.import_module("yaml")  # needed for this format alone
    except ModuleNotFoundError as error:
        raise GraderError(
            f"{METADATA} can only be read with PyYAML: .venv/bin/python -m pip install "
            "pyyaml"
        ) from error
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        with file.open("rb") as text:
            found = yaml.load(text, loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        line = " ".join(str(error).split())
        raise GraderError(f"{METADATA} cannot be read: {line}") from error
    if not isinstance(found, Mapping):
        raise GraderError(f"{METADATA} lists no submission. Export them again")
    return found


def _hand_in(one: Mapping[str, Any], folder: Path | None) -> HandIn:
    submitters = tuple(
        {
            column: named(str(who[key]))
            for column, key in COLUMNS.items()
            if who.get(key) not in (None, "")
        }
        for who in one[":submitters"]
    )
    if folder is None:
        return HandIn(submitters, why=NO_FILES)
    when = _moment(one.get(":created_at"))
    times = [_moment(old[":created_at"]) for old in one.get(":history") or []]
    before = sum(bool(old and when and old < when) for old in times)
    attempt = Attempt(folder, when, before + 1, len(times) + 1)
    return HandIn(submitters, (attempt,))


def _moment(value: Any) -> datetime | None:
    """A time, as YAML reads it; one without an offset is UTC, as YAML defines it."""
    if not isinstance(value, datetime):
        return None
    return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC)
