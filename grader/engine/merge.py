# SPDX-License-Identifier: MIT
"""Merges the results of a run with earlier results, to make the new results.json.

If the run did not grade a file, the ledger gives the newest answer about it. The answer
must be about the file as it is now. If the ledger has none, the entry in results.json
stays.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from grader.checks.gates import matrix
from grader.course.rungs import Task
from grader.course.tasks import all_tasks, offered_tasks
from grader.engine import results
from grader.engine.answers import records
from grader.engine.answers.ledger import Ledger
from grader.engine.score import Results, RungResult, TaskResult


def merged(
    found: Sequence[TaskResult],
    seed: int,
    machine: dict[str, Any] | None = None,
    ledger: Ledger | None = None,
) -> Results:
    """Everything that is known after a run, in the order of the course."""
    old = results.read()
    card = machine or (old.environment.get("machine") if old else None)
    new = {result.task.id: replace(result, seed=seed) for result in found}
    before = {result.task.id: result for result in old.tasks} if old else {}
    tasks = []
    for task in all_tasks():
        mine, kept = new.get(task.id), before.get(task.id)
        task = mine.task if mine else task
        last = next((result.seed for result in (mine, kept) if result), seed)
        from_ledger = records.task_result(ledger, task)
        kept = _unchanged(kept, task) if kept else None
        older = [_judged(result, task) for result in (from_ledger, kept) if result]
        if there := [*([mine] if mine else []), *older]:
            tasks.append(_joined(task, there, last))
    date = datetime.now().astimezone().isoformat(timespec="seconds")
    environment = results.environment() | ({"machine": card} if card else {})
    return Results(tuple(tasks), seed, date, environment)


def stale(whole: Results) -> list[str]:
    """The files that were graded and have changed since, or are gone."""
    now = _digests()
    return [
        found.rung.id
        for result in whole.tasks
        for found in result.rungs
        if now.get(found.rung.id) != found.rung.sha256
    ]


def stale_words(whole: Results) -> list[str]:
    """A line for each file whose result no longer counts."""
    return [
        f"stale, and not counted: {name} has changed since it was graded"
        for name in stale(whole)
    ]


def standing(whole: Results | None) -> Results | None:
    """What counts of earlier results: of each task of the course what was found out of
    its files as they are now. None if there are no results.
    """
    if whole is None:
        return None
    by_id = {result.task.id: result for result in whole.tasks}
    tasks = [
        _unchanged(by_id.get(task.id, TaskResult(task, ())), task)
        for task in offered_tasks()
    ]
    return replace(whole, tasks=tuple(tasks))


def _digests() -> dict[str, str]:
    """The hash of each rung as it is now."""
    return {rung.id: rung.sha256 for task in all_tasks() for rung in task.rungs}


def _unchanged(result: TaskResult, task: Task) -> TaskResult:
    """Without files that are changed since, or gone."""
    now = {rung.id: rung for rung in task.rungs}
    same = [
        replace(found, rung=now[found.rung.id])
        for found in result.rungs
        if found.rung.id in now and now[found.rung.id].sha256 == found.rung.sha256
    ]
    recorded = result.recorded if len(same) == len(result.rungs) else None
    return replace(result, rungs=tuple(same), recorded=recorded)


def _judged(result: TaskResult, task: Task) -> TaskResult:
    """With times that count by the bands of today."""
    bands = task.speed.bands if task.speed else {}
    rungs = []
    for found in result.rungs:
        speeds = tuple(s.judged(bands.get(s.direction)) for s in found.speeds)
        rungs.append(replace(found, speeds=speeds))
    return replace(result, rungs=tuple(rungs))


def _joined(task: Task, there: list[TaskResult], seed: int | None) -> TaskResult:
    """A task from what is known of it, the newest first. Its points follow."""
    whole = functools.reduce(_over, there)
    rungs = sorted(whole.rungs, key=lambda found: found.rung.id)
    return TaskResult(task, tuple(map(_with_gates, rungs)), seed=seed)


def _over(newer: TaskResult, older: TaskResult) -> TaskResult:
    """What was not looked at stays: other files, the other direction. What was timed
    anew is not known from before.
    """
    timed = {speed.direction for found in newer.rungs for speed in found.speeds}
    rungs = {found.rung.id: found for found in newer.rungs}
    for found in older.rungs:
        speeds = tuple(s for s in found.speeds if s.direction not in timed)
        found = replace(found, speeds=speeds)
        mine = rungs.get(found.rung.id)
        if mine is None:
            rungs[found.rung.id] = found
        elif mine.rung.sha256 == found.rung.sha256:
            rungs[found.rung.id] = mine.over(found, newer.asked)
    return replace(newer, rungs=tuple(rungs.values()))


def _with_gates(found: RungResult) -> RungResult:
    """An operator of lab 05 with its gates."""
    if not found.rung.in_package:
        return found
    return replace(found, gates=matrix.of((c.name, c.verdict) for c in found.checks))
