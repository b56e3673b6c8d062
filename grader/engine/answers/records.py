# SPDX-License-Identifier: MIT
"""Turns what the ledger keeps of gradings into records, and back.

The checks of a file are entries of results.json. The times of a task come from all
files that were timed.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from signatures import DIRECTIONS

from grader.course.rungs import Rung, Task
from grader.engine.answers import as_json
from grader.engine.answers.as_json import Entry
from grader.engine.answers.ledger import CHECKS, SPEED, Ledger, Row
from grader.engine.score import RungResult, Since, TaskResult
from grader.errors import GraderError

PARTS = {"forward": "forward", "gradient": "backward"}  # of a question: directions


# ---- what is kept --------------------------------------------------------------------


def keep(
    ledger: Ledger,
    key: str,
    result: RungResult,
    *,
    asked: str,
    seed: int,
    seconds: float,
) -> None:
    """Keep what was found out about a rung."""
    ledger.keep(
        CHECKS,
        result.rung.id,
        key,
        as_json.rung_entry(result, seed),
        verdicts=[str(check.verdict) for check in result.checks],
        sha256=result.rung.sha256,
        asked=asked,
        seed=seed,
        seconds=seconds,
    )


def keep_speeds(
    ledger: Ledger, key: str, before: TaskResult, timed: TaskResult, *, seed: int
) -> None:
    """Keep what timing has added to a task: times, and faults that only it has seen."""
    record, verdicts = {}, []
    for old, new in zip(before.rungs, timed.rungs):
        added = replace(new, checks=new.checks[len(old.checks) :])
        if added.speeds or added.checks:
            record[new.rung.id] = as_json.rung_entry(added, seed)
            verdicts += [str(speed.verdict) for speed in added.speeds]
            verdicts += [str(check.verdict) for check in added.checks]
    name = timed.task.id
    ledger.keep(SPEED, name, key, record, verdicts=verdicts, seed=seed)


# ---- and found again -----------------------------------------------------------------


def rung_result(rung: Rung, row: Row) -> RungResult:
    """What was found out about a rung."""
    found = as_json.rung(row.record, rung)
    asked = PARTS.get(row.asked)
    checks = tuple(c for c in found.checks if asked in (None, c.direction))
    made = replace(found, checks=checks, since=Since(row.date, row.seed))
    return made.with_commands(row.seed)


def with_times(
    result: RungResult, record: Entry, timed: Collection[str] = ()
) -> RungResult:
    """With what timing has added to a rung, in the directions that are not yet `timed`;
    `record` is a row's.
    """
    entry = record.get(result.rung.id, {})
    if entry.get("sha256") != result.rung.sha256:
        return result
    added = as_json.rung(entry)
    checks = tuple(c for c in added.checks if c.direction not in timed)
    speeds = tuple(s for s in added.speeds if s.direction not in timed)
    return replace(result, checks=result.checks + checks, speeds=result.speeds + speeds)


def last(ledger: Ledger, rung: Rung) -> RungResult | None:
    """What was last found out about a file as it is now: its checks, the newest of each
    direction, and what timing has added, unless another file was timed later.
    """
    rows = ledger.rows(CHECKS, rung.id, rung.sha256)
    if not rows:
        return None
    found = rung_result(rung, rows[0])
    for row, older in pairwise(rows):
        if not row.asked:
            break  # an answer to everything
        found = found.over(rung_result(rung, older))
    timed: set[str] = set()
    for row in ledger.rows(SPEED, rung.task):
        record = row.record
        found = with_times(found, record, timed)
        entries = record.values()
        timed |= {s["direction"] for e in entries for s in e.get("speed", ())}
        if timed >= set(DIRECTIONS):
            break
    return found


def last_said(folder: Path, rung: Rung) -> RungResult | None:
    """The same of the ledger in a folder; None also where it cannot be read: the next
    grading says what is wrong with it.
    """
    try:
        with Ledger(folder, write=False) as ledger:
            return last(ledger, rung)
    except GraderError:
        return None


def task_result(ledger: Ledger | None, task: Task) -> TaskResult | None:
    """What was last found out about the files of a task as they are now."""
    if ledger is None:
        return None
    found = tuple(result for rung in task.rungs if (result := last(ledger, rung)))
    return TaskResult(task, found, asked=()) if found else None
