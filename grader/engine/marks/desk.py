# SPDX-License-Identifier: MIT
"""desk/<course>/: the graded submissions of a course, a file for each student.

A new grading replaces the tasks that it looked at. What a person decides stands in
people.toml beside them.
"""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from grader.course.offered.course_file import Course
from grader.engine.results import unlike
from grader.errors import GraderError

PEOPLE = "people.toml"
VERSION = 1


@dataclass(frozen=True)
class Record:
    """What was graded of a student."""

    student: str
    results: Mapping[str, Any]  # as results.json has it, tasks of the course alone
    handed_in: Mapping[str, datetime]  # task -> when


def file_of(folder: Path, student: str) -> Path:
    """Where a student's record lies, whatever letters the name has."""
    name = urllib.parse.quote(student, safe="@ ")
    name = f"%2E{name[1:]}" if name.startswith(".") else name  # no folder, none above
    return folder / "records" / f"{name}.json"


def read(file: Path) -> Record:
    """A record. Raises GraderError if it is damaged, or of another version."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        times = {t: datetime.fromisoformat(w) for t, w in found["handed_in"].items()}
        record = Record(str(found["student"]), found["results"], times)
        wrong = unlike(record.results)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        wrong = f"{type(error).__name__}: {error}"
    if wrong:
        raise GraderError(
            f"{file} cannot be read: {wrong}; move it away and grade this submission "
            "again"
        )
    return record


def everybody(folder: Path) -> dict[str, Record]:
    """All records by student."""
    found = map(read, sorted((folder / "records").glob("*.json")))
    return {record.student: record for record in found}


def keep(
    folder: Path,
    student: str,
    results: Mapping[str, Any],
    *,
    when: datetime,
    tasks: list[str],
    made: Course,
) -> Path:
    """Put these tasks of a grading into a student's record."""
    file = file_of(folder, student)
    old = read(file) if file.exists() else None
    entries = {one["id"]: one for one in old.results["tasks"]} if old else {}
    entries |= {one["id"]: one for one in results["tasks"] if one["id"] in tasks}
    times = dict(old.handed_in) if old else {}
    times |= dict.fromkeys(tasks, when)
    mine = [entries[task] for task in made.offers if task in entries]
    whole = {**results, "tasks": mine}
    whole |= {
        what: sum(one[what] for one in mine if one["core"])
        for what in ("points", "pending", "of")
    }
    whole["extra"] = sum(one["points"] for one in mine if not one["core"])
    record = {
        "version": VERSION,
        "student": student,
        "handed_in": {task: times[task].isoformat() for task in times},
        "results": whole,
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".new")
    new.write_text(json.dumps(record, indent=1), encoding="utf-8")
    new.replace(file)
    return file
