# SPDX-License-Identifier: MIT
"""Answers as the ledger keeps them, and back."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from grader.checks.check_result import CheckResult
from grader.checks.speed.estimate import Estimate, Speed
from grader.course.rungs import Rung, Task
from grader.course.work import Cost
from grader.engine.answers.ledger import Ledger, Row
from grader.engine.score import RungResult, Since, TaskResult
from grader.verdicts import Verdict


def keep(
    ledger: Ledger,
    kind: str,
    key: str,
    result: RungResult,
    *,
    asked: str,
    seed: int,
    seconds: float,
) -> None:
    """Keep what was found out about a rung."""
    ledger.keep(
        kind,
        result.rung.id,
        key,
        {
            "checks": [asdict(check) for check in result.checks],
            "uses": result.uses,
            "nvcc": result.nvcc,
        },
        verdicts=[str(check.verdict) for check in result.checks],
        sha256=result.rung.sha256,
        asked=asked,
        seed=seed,
        seconds=seconds,
    )


def rung_result(rung: Rung, row: Row) -> RungResult:
    """The same again."""
    found = row.record
    checks = tuple(_check(check) for check in found["checks"])
    since = Since(row.date, row.seed)
    return RungResult(rung, checks, found["uses"], nvcc=found["nvcc"], since=since)


def task_result(ledger: Ledger | None, kind: str, task: Task) -> TaskResult | None:
    """What was last found out about the files of a task as they are now."""
    if ledger is None:
        return None
    rows = [(rung, ledger.latest(kind, rung.id, rung.sha256)) for rung in task.rungs]
    found = tuple(rung_result(rung, row) for rung, row in rows if row)
    return TaskResult(task, found) if found else None


def _check(kept: dict[str, Any]) -> CheckResult:
    return CheckResult(**{**kept, "verdict": Verdict(kept["verdict"])})


def keep_speeds(
    ledger: Ledger,
    kind: str,
    key: str,
    before: TaskResult,
    timed: TaskResult,
    *,
    seed: int,
) -> None:
    """Keep what timing has added to a task: times, and faults that only it has seen."""
    record, verdicts = {}, []
    for old, new in zip(before.rungs, timed.rungs):
        checks = new.checks[len(old.checks) :]
        if new.speeds or checks:
            speeds = [_plain(speed) for speed in new.speeds]
            record[new.rung.id] = {"speeds": speeds, "checks": [*map(asdict, checks)]}
            verdicts += [str(speed.verdict) for speed in new.speeds]
            verdicts += [str(check.verdict) for check in checks]
    name = timed.task.id
    ledger.keep(kind, name, key, record, verdicts=verdicts, seed=seed)


def _plain(speed: Speed) -> dict[str, Any]:
    """Without the band: what a time is worth stands in lab.toml."""
    return {**asdict(speed), "band": None, "others": {}}


def with_speeds(result: TaskResult, row: Row) -> tuple[RungResult, ...]:
    """The rungs of a task with the times that were kept."""
    rungs = []
    for found in result.rungs:
        kept = row.record.get(found.rung.id, {"speeds": [], "checks": []})
        speeds = tuple(_speed(speed, result.task) for speed in kept["speeds"])
        checks = (*found.checks, *map(_check, kept["checks"]))
        rungs.append(replace(found, checks=checks, speeds=speeds))
    return tuple(rungs)


def _speed(kept: dict[str, Any], task: Task) -> Speed:
    made = dict(kept)
    for name in ("ratio", "share"):
        made[name] = Estimate(**made[name]) if made[name] else None
    made["cost"], made["verdict"] = Cost(**made["cost"]), Verdict(made["verdict"])
    made["errors"] = tuple(made["errors"])
    made["band"] = task.speed.bands.get(made["direction"]) if task.speed else None
    return Speed(**made)
