# SPDX-License-Identifier: MIT
"""Writes the records of a grading (score.py) as JSON, and reads them back.

For each record one function writes it and one function reads it. The whole is
results.json; its schema is results.schema.json. A row of the ledger is the entry of a
file. JSON that is read must fit the schema. Numbers that are not finite are left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from grader.checks.check_result import CheckResult
from grader.checks.heat_map import heat_map
from grader.checks.printed import printed
from grader.checks.speed.estimate import Estimate, Speed
from grader.course.bands import Band
from grader.course.rungs import Rung, Task
from grader.engine import coverage
from grader.engine.score import GradedRung, Results, RungResult, Since, TaskResult
from grader.toolchain.nvcc import Compiled, Kernel
from grader.verdicts import Verdict

SCHEMA = 1
Entry = dict[str, Any]
RATIO = ("ratio", "low", "high")
SHARE = ("share", "share_low", "share_high")
RATES = ("ms", "gbs", "intensity", "gflops", "percent_of_peak")


def number(entry: Mapping[str, Any], key: str) -> float | None:
    """A finite number, or None."""
    value = entry.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if math.isfinite(value) else None


# ---- everything ----------------------------------------------------------------------


def results_entry(whole: Results) -> Entry:
    """The contents of results.json."""
    return {
        "schema": SCHEMA,
        "seed": whole.seed,
        "date": whole.date,
        "environment": dict(whole.environment),
        "points": whole.total("points", core=True),
        "pending": whole.total("pending", core=True),
        "of": whole.total("of", core=True),
        "extra": whole.total("points", core=False),
        "matrix": coverage.matrix(whole.tasks).entry(),
        "tasks": [task_entry(result) for result in whole.tasks],
    }


def results(entry: Entry) -> Results:
    """The same as a record."""
    return Results(
        tuple(task(one) for one in entry["tasks"]),
        entry["seed"],
        entry.get("date", ""),
        entry["environment"],
    )


def task_entry(result: TaskResult) -> Entry:
    """A ladder."""
    return {
        "id": result.task.id,
        "points": result.points,
        "pending": result.pending,
        "of": result.task.points,
        "core": result.task.core,
        **({} if result.seed is None else {"seed": result.seed}),
        "rungs": [rung_entry(found, result.seed) for found in result.rungs],
    }


def task(entry: Entry) -> TaskResult:
    """The same as a record: the task is what the entry says of it."""
    lab, _, operator = entry["id"].partition("/")
    recorded_task = Task(lab, operator, "", entry["of"], entry.get("core", True))
    found = tuple(rung(one) for one in entry["rungs"])
    recorded = entry["points"], entry["pending"]
    return TaskResult(recorded_task, found, seed=entry.get("seed"), recorded=recorded)


# ---- a file --------------------------------------------------------------------------


def rung_entry(result: RungResult, seed: int | None = None) -> Entry:
    """A file; `seed` is that of the run, for a result of this run."""
    since = result.since
    seed = since.seed if since else seed
    return {
        "id": result.rung.id,
        "file": result.rung.shown,
        "sha256": result.rung.sha256,
        "uses": dict(result.uses),
        **({} if seed is None else {"seed": seed}),
        **({"date": since.date} if since and since.date else {}),
        "checks": [check_entry(check) for check in result.checks],
        "speed": [speed_entry(speed) for speed in result.speeds],
        **({"nvcc": _nvcc_entry(result.nvcc)} if result.nvcc else {}),
        **({"needs": result.rung.needs} if result.rung.needs else {}),
        **({"gates": dict(result.gates)} if result.gates else {}),
    }


def rung(entry: Entry, file: Rung | None = None) -> RungResult:
    """The same as a record. It is about `file`, or the one it names."""
    return RungResult(
        file or _graded(entry),
        tuple(check(one) for one in entry["checks"]),
        entry["uses"],
        tuple(speed(one) for one in entry.get("speed", ())),
        _nvcc(entry["nvcc"]) if entry.get("nvcc") else None,
        Since(entry.get("date", ""), entry["seed"]) if "seed" in entry else None,
        entry.get("gates", {}),
    )


def _graded(entry: Entry) -> Rung:
    name = entry["id"]
    return GradedRung(
        name.rpartition("/")[0],
        Path(entry["file"]),
        needs=entry.get("needs", ""),
        name=name,
        digest=entry["sha256"],
    )


def check_entry(result: CheckResult) -> Entry:
    """A check."""
    made = asdict(result)
    replay, more = made.pop("replay"), {}
    for name in ("heat", "printed", "of", "asked", "left"):  # only where there is one
        if value := made.pop(name):
            more[name] = value
    return {**made, "verdict": str(result.verdict), "replay": replay, **more}


def check(entry: Entry) -> CheckResult:
    """The same as a record."""
    fields = _of(CheckResult, entry)
    fields["heat"] = heat_map(entry.get("heat"))
    fields["printed"] = printed(entry.get("printed"))
    return CheckResult(**{**fields, "verdict": Verdict(entry["verdict"])})


def _nvcc_entry(compiled: Compiled) -> Entry:
    return {**asdict(compiled), "verdict": str(compiled.verdict)}


def _nvcc(entry: Entry) -> Compiled:
    return Compiled(
        Verdict(entry["verdict"]),
        entry["message"],
        entry["location"],
        tuple(entry["warnings"]),
        tuple(Kernel(**_of(Kernel, kernel)) for kernel in entry["kernels"]),
    )


def _of(record: type, entry: Entry) -> Entry:
    """The fields of a record that an entry has: another grader may know more."""
    return {f.name: entry[f.name] for f in fields(record) if f.name in entry}


# ---- a time --------------------------------------------------------------------------


def speed_entry(result: Speed) -> Entry:
    """One direction of a file, timed."""
    band = result.band
    worth = band.worth if band else 0.0
    rates = {name: getattr(result, name) for name in RATES}
    return {
        "case": result.case,
        "direction": result.direction,
        "verdict": str(result.verdict),
        "baseline": result.baseline,
        "message": result.message,
        "of": result.of,
        "pairs": result.rounds,
        "dropped": result.dropped,
        "earned": result.earned,
        "points": result.earned * worth,
        "points_of": worth,
        **_estimate_entry(result.ratio, *RATIO),
        **_estimate_entry(result.share, *SHARE),
        **({"floor": band.floor, "full": band.full} if band else {}),
        **{name: value for name, value in rates.items() if value is not None},
    }


def speed(entry: Entry) -> Speed:
    """The same as a record, with the band by which it was judged."""
    case, of = entry["case"], entry["of"]
    floor, full = number(entry, "floor") or 0.0, number(entry, "full") or 0.0
    worth = number(entry, "points_of") or 0.0
    return Speed(
        case,
        entry["direction"],
        Verdict(entry["verdict"]),
        entry["baseline"],
        entry.get("message", ""),
        _estimate(entry, *RATIO),
        of,
        _estimate(entry, *SHARE),
        Band(case, floor, full, of, worth) if 0 < floor < full else None,
        entry.get("pairs", 0),
        entry.get("dropped", 0),
        number(entry, "ms"),
        number(entry, "gbs"),
        number(entry, "intensity"),
        number(entry, "gflops"),
        number(entry, "percent_of_peak"),
    )


def _estimate_entry(found: Estimate | None, *names: str) -> Entry:
    if found is None:
        return {}
    return dict(zip(names, (found.value, found.low, found.high)))


def _estimate(entry: Entry, *names: str) -> Estimate | None:
    """A value and its ends; an end that is not known is the value."""
    value = number(entry, names[0])
    if value is None:
        return None
    ends = (number(entry, name) for name in names[1:])
    return Estimate(value, *(value if end is None else end for end in ends))
