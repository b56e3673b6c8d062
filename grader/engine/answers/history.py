# SPDX-License-Identifier: MIT
"""Computes points and speed over time, from the ledger's rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from signatures import DIRECTIONS

from grader.course.rungs import Task
from grader.engine.answers import as_json
from grader.engine.answers.ledger import CHECKS, Ledger, Row
from grader.engine.score import RungResult, TaskResult


@dataclass(frozen=True)
class Moment:
    """How everything stood after an answer."""

    date: str  # ISO 8601
    task: str  # that the answer was about
    points: float  # on the core path
    extra: float
    ratios: Mapping[str, float]  # direction -> times PyTorch's speed, of the task


def moments(ledger: Ledger, tasks: Sequence[Task]) -> Iterator[Moment]:
    """After each answer about these tasks, the oldest first. Files count as they were
    then; tasks and their points as they are now.
    """
    by_id = {task.id: task for task in tasks}
    found: dict[str, dict[str, RungResult]] = {task.id: {} for task in tasks}
    earned = dict.fromkeys(by_id, 0.0)
    date = ""
    for row in ledger.history():
        name = row.name.rpartition("/")[0] if row.kind == CHECKS else row.name
        if name not in by_id:
            continue
        _learn(found[name], row)
        now = TaskResult(by_id[name], _judged(by_id[name], found[name]))
        earned[name] = now.points
        date = max(date, row.date)
        points = sum(earned[task.id] for task in tasks if task.core)
        extra = sum(earned[task.id] for task in tasks if not task.core)
        yield Moment(date, name, points, extra, _ratios(now))


def _learn(rungs: dict[str, RungResult], row: Row) -> None:
    """An answer about one file, or the times of a task's files."""
    if row.kind == CHECKS:
        result = as_json.rung(row.record)
        before = rungs.get(row.name)
        if before and before.rung.sha256 == row.sha256:
            result = result.over(before)
        elif before:  # until the new file is timed
            result = replace(result, speeds=before.speeds)
        rungs[row.name] = result
        return
    for name, entry in row.record.items():
        added, earlier = as_json.rung(entry), rungs.get(name)
        if earlier and earlier.rung.sha256 == entry["sha256"]:
            timed = {speed.direction for speed in added.speeds}
            kept = tuple(s for s in earlier.speeds if s.direction not in timed)
            rungs[name] = replace(earlier, speeds=kept + added.speeds)


def _judged(task: Task, rungs: Mapping[str, RungResult]) -> tuple[RungResult, ...]:
    """Times count by the bands of today."""
    bands = task.speed.bands if task.speed else {}
    made = []
    for result in rungs.values():
        speeds = tuple(s.judged(bands.get(s.direction)) for s in result.speeds)
        made.append(replace(result, speeds=speeds))
    return tuple(made)


def _ratios(result: TaskResult) -> dict[str, float]:
    found = {d: result.speed(d) for d in DIRECTIONS}
    return {d: s.ratio.value for d, s in found.items() if s and s.ratio}
