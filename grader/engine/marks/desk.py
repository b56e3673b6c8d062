# SPDX-License-Identifier: MIT
"""Keeps the graded submissions of a course in desk/<course>/, a file for each student.

A new grading replaces the tasks that it graded. If a submission could not be graded, it
is noted in refused/ until a grading replaces it. A person's decisions are in
people.toml.
"""

from __future__ import annotations

import hashlib
import json
import urllib.parse
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from grader import once
from grader.course.handed.inbox import named
from grader.course.offered.course_file import Course
from grader.engine.results import unlike
from grader.errors import GraderError

PEOPLE = "people.toml"
VERSION = 1
LONGEST = 200  # characters of a file's name

Written = Mapping[str, Mapping[str, str]]  # task -> file that is no starter -> hash


@dataclass(frozen=True)
class Handed:
    """A file that a student wrote."""

    sha256: str
    when: datetime | None  # when these contents were first handed in; None: unknown


@dataclass(frozen=True)
class Record:
    """What was graded of a student."""

    student: str
    results: Mapping[str, Any]  # as results.json has it, tasks of the course alone
    handed_in: Mapping[str, datetime | None]  # task -> its last file; None: unknown
    files: Mapping[str, Mapping[str, Handed]] = field(default_factory=dict)  # by task
    left: Mapping[str, str] = field(default_factory=dict)  # not graded file -> why


def file_of(folder: Path, student: str, kind: str = "records") -> Path:
    """Where a student's record lies, whatever letters the name has, and how many."""
    name = urllib.parse.quote(named(student), safe="@ ")
    name = f"%2E{name[1:]}" if name.startswith(".") else name  # no folder, none above
    if len(name) > LONGEST:
        name = f"{name[:LONGEST]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
    return folder / kind / f"{name}.json"


def read(file: Path) -> Record:
    """A record. Raises GraderError if it is damaged, or of another version."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        times = {task: _moment(when) for task, when in found["handed_in"].items()}
        files = {
            task: {
                name: Handed(sha, _moment(when)) for name, (sha, when) in all_.items()
            }
            for task, all_ in found.get("files", {}).items()
        }
        left = dict(found.get("left", {}))
        student = named(str(found["student"]))
        record = Record(student, found["results"], times, files, left)
        wrong = unlike(record.results)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        wrong = f"{type(error).__name__}: {error}"
    if wrong:
        raise GraderError(
            f"{file} cannot be read: {wrong}; move this file away, then grade the "
            "submission again"
        )
    return record


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def everybody(folder: Path) -> dict[str, Record]:
    """All records by student."""
    found = map(read, sorted((folder / "records").glob("*.json")))
    return {record.student: record for record in found}


def keep(
    folder: Path,
    student: str,
    results: Mapping[str, Any],
    *,
    when: datetime | None,
    written: Written,
    left: Mapping[str, str] | None = None,
    tasks: list[str],
    made: Course,
) -> Path:
    """Put these tasks of a grading into a student's record. A file that has not changed
    since an earlier hand-in keeps that hand-in's time.
    """
    file = file_of(folder, student)
    with once.placed(file) as new:  # nobody else changes what is read meanwhile
        old = read(file) if file.exists() else None
        record = _merged(
            old, student, results, when, written, dict(left or {}), tasks, made
        )
        new.write_text(json.dumps(record, indent=1), encoding="utf-8")
    _forget_refusal(folder, student, tasks)
    return file


def _merged(
    old: Record | None,
    student: str,
    results: Mapping[str, Any],
    when: datetime | None,
    written: Written,
    left: Mapping[str, str],
    tasks: list[str],
    made: Course,
) -> dict[str, Any]:
    """The record as it will be."""
    entries = {one["id"]: one for one in old.results["tasks"]} if old else {}
    entries |= {one["id"]: one for one in results["tasks"] if one["id"] in tasks}
    mine = [entries[task] for task in made.offers if task in entries]
    whole = {**results, "tasks": mine}
    whole |= {
        what: sum(one[what] for one in mine if one["core"])
        for what in ("points", "pending", "of")
    }
    whole["extra"] = sum(one["points"] for one in mine if not one["core"])
    files = _files(old.files if old else {}, written, tasks, when)
    times = {task: _last(list(files[task].values())) for task in files}
    if old:  # a record from before files were kept
        times |= {
            t: old.handed_in[t] for t in old.handed_in if t not in {*tasks, *times}
        }
    return {
        "version": VERSION,
        "student": named(student),
        "handed_in": {task: _text(times[task]) for task in times},
        "files": {
            task: {name: (one.sha256, _text(one.when)) for name, one in all_.items()}
            for task, all_ in files.items()
        },
        "left": left,
        "results": whole,
    }


def _files(
    before: Mapping[str, Mapping[str, Handed]],
    written: Written,
    tasks: Collection[str],
    when: datetime | None,
) -> dict[str, Mapping[str, Handed]]:
    """The files of a student with their times, those of other tasks as before."""
    again = all(
        {name: one.sha256 for name, one in before.get(task, {}).items()}
        == dict(written.get(task, {}))
        for task in tasks
    )
    files = {task: before[task] for task in before if task not in tasks}
    for task in tasks:
        old = before.get(task, {})
        if task in written:
            files[task] = {
                name: Handed(digest, _time(digest, old.get(name), when, again=again))
                for name, digest in written[task].items()
            }
    return files


def _time(
    digest: str, old: Handed | None, when: datetime | None, *, again: bool
) -> datetime | None:
    """When a file was first handed in with these contents. `again`: all files are those
    of the hand-in before, so an unknown time is the one that is given now.
    """
    if old is None or old.sha256 != digest:
        return when
    if old.when and when:
        return min(old.when, when)
    return old.when or (when if again else None)


def _last(files: Collection[Handed]) -> datetime | None:
    times = [one.when for one in files if one.when]
    return max(times) if len(times) == len(files) else None


def _text(when: datetime | None) -> str | None:
    return when.isoformat() if when else None


def _write(file: Path, contents: Mapping[str, Any]) -> None:
    """Whole or not at all."""
    with once.placed(file) as new:
        new.write_text(json.dumps(contents, indent=1), encoding="utf-8")


# ---- what could not be graded --------------------------------------------------------


def refuse(folder: Path, student: str, why: str, tasks: Collection[str]) -> None:
    """Note that these tasks of a student could not be graded, and why."""
    file = file_of(folder, student, "refused")
    old = _refusal(file)["tasks"] if file.exists() else []
    whole = {"student": named(student), "why": why, "tasks": sorted({*old, *tasks})}
    _write(file, whole)


def refused(folder: Path) -> dict[str, str]:
    """The students whose last hand-in could not be graded, and why."""
    found = map(_refusal, sorted((folder / "refused").glob("*.json")))
    return {named(one["student"]): one["why"] for one in found}


def _refusal(file: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        _ = found["student"], found["why"], found["tasks"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise GraderError(f"{file} cannot be read: {error}; delete it") from error
    return found


def _forget_refusal(folder: Path, student: str, tasks: Collection[str]) -> None:
    """These tasks have been graded now."""
    file = file_of(folder, student, "refused")
    if not file.exists():
        return
    old = _refusal(file)
    if left := sorted({*old["tasks"]} - {*tasks}):
        _write(file, {**old, "tasks": left})
    else:
        file.unlink()
