# SPDX-License-Identifier: MIT
"""results.json: the one source of all reports. Written whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from signatures import DIRECTIONS

from grader.checks.check_result import CheckResult
from grader.checks.gates import matrix
from grader.checks.speed.estimate import Estimate, Speed
from grader.course import renamed
from grader.course.rungs import Task
from grader.course.tasks import all_tasks
from grader.engine.answers import keys, records
from grader.engine.answers.ledger import CHECKS, Ledger, aside
from grader.engine.answers.schema import misfit
from grader.engine.score import RungResult, TaskResult, parts
from grader.errors import GraderError
from grader.toolchain import gpu_probe, isa, sandbox
from grader.toolchain.make import build_folder, first_line, named_compiler
from grader.verdicts import Verdict

SCHEMA = 1
SCHEMA_FILE = Path(__file__).with_name("results.schema.json")


def folder() -> Path:
    """Where results are kept."""
    return build_folder() / "grade"


def path() -> Path:
    """The result file."""
    return folder() / "results.json"


@contextmanager
def lock() -> Iterator[None]:
    """One grading at a time in one tree. Raises GraderError if another one runs."""
    make_folder(folder())
    with (folder() / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise GraderError(
                "another grading is running in this folder; wait for it to end, or "
                "give this one a folder of its own with CONVLAB_BUILD="
            ) from error
        yield


def make_folder(wanted: Path) -> None:
    """Make a folder, or say in a sentence why that cannot be done."""
    try:
        wanted.mkdir(parents=True, exist_ok=True)
        probe = wanted / f".write-{os.getpid()}"
        probe.write_text("x")
        probe.unlink()
    except OSError as error:
        raise GraderError(explain(error, wanted)) from error


def explain(error: OSError, wanted: Path) -> str:
    """One sentence for an error of the file system."""
    if error.errno == errno.ENOSPC:
        return f"the disk is full: cannot write to {wanted}; make room and try again"
    reason = (error.strerror or str(error)).lower()
    return (
        f"cannot write to {wanted}: {reason}; mend its permissions, or name another "
        "folder with CONVLAB_BUILD="
    )


def near(wanted: Path) -> str:
    """A path as people see it from where they are."""
    return os.path.relpath(wanted)


def environment() -> dict[str, Any]:
    """What the numbers depend on: machine, compiler, PyTorch, sandbox."""
    return {
        "cpu": isa.processor(),
        "isa": isa.name(),
        "compiler": first_line([*named_compiler().split(), "--version"]),
        "torch": keys.version("torch"),
        "python": platform.python_version(),
        "cuda": card.words if (card := gpu_probe.card()) else None,
        "sandbox": sandbox.level(),
        "threads": 1,
    }


# ---- writing -------------------------------------------------------------------------


def in_float(check: CheckResult) -> str:
    """What make debug is told besides, so that it shows the report's numbers."""
    return " DTYPE=f32" if check.dtype == "f32" else ""


def _check(check: CheckResult, rung: RungResult, seed: int) -> dict[str, Any]:
    seed = rung.since.seed if rung.since else seed
    made = asdict(check)
    made["verdict"] = str(check.verdict)
    case = made.pop("replay")
    made["replay"] = (
        f"make debug T={rung.rung.id} CASE={case} SEED={seed}{in_float(check)}"
        if case and check.verdict is not Verdict.NOT_IMPLEMENTED  # nothing to stop in
        else None
    )
    return made


def _estimate(name: str, found: Estimate | None) -> dict[str, float]:
    """A ratio and its interval under three names; nothing if there is none."""
    if found is None:
        return {}
    ends = {f"{name}_low": found.low, f"{name}_high": found.high}
    if name == "ratio":
        ends = {"low": found.low, "high": found.high}
    return {name: found.value, **ends}


def speed_entry(speed: Speed, worth: float) -> dict[str, Any]:
    """One direction of one rung, timed; `worth` is what the direction can earn."""
    made: dict[str, Any] = {
        "case": speed.case,
        "direction": speed.direction,
        "verdict": str(speed.verdict),
        "baseline": speed.baseline,
        "message": speed.message,
        "of": speed.of,
        "pairs": speed.rounds,
        "dropped": speed.dropped,
        "earned": speed.earned,
        "points": speed.earned * worth,
        "points_of": worth,
        **_estimate("ratio", speed.ratio),
        **_estimate("share", speed.share),
    }
    if speed.band:
        made |= {"floor": speed.band.floor, "full": speed.band.full}
    if speed.seconds > 0:
        cost = speed.cost
        made["ms"] = 1e3 * speed.seconds
        made["gbs"] = 1e-9 * cost.bytes / speed.seconds
        made["intensity"] = cost.flops / cost.bytes
        if cost.flops:
            made["gflops"] = 1e-9 * cost.flops / speed.seconds
            made["percent_of_peak"] = 50 * cost.flops / speed.seconds / speed.peak
    return made


def _speed_entries(result: TaskResult, rung: RungResult) -> list[dict[str, Any]]:
    task = result.task.speed
    return [
        speed_entry(s, task.points_of(s.direction) if task and s.band else 0.0)
        for s in rung.speeds
    ]


def _task(result: TaskResult, seed: int) -> dict[str, Any]:
    return {
        "id": result.task.id,
        "points": result.points,
        "pending": result.pending,
        "of": result.task.points,
        "core": result.task.core,
        "seed": seed,
        "rungs": [
            {
                "id": r.rung.id,
                "file": r.rung.shown,
                "sha256": r.rung.sha256,
                "uses": r.uses,
                "seed": r.since.seed if r.since else seed,
                **({"date": r.since.date} if r.since else {}),
                "checks": [_check(check, r, seed) for check in r.checks],
                "speed": _speed_entries(result, r),
                **({"nvcc": r.nvcc} if r.nvcc else {}),
                **({"needs": r.rung.needs} if r.rung.needs else {}),
                **({"gates": {}} if r.rung.step else {}),
            }
            for r in result.rungs
        ],
    }


def merged(
    results: list[TaskResult],
    seed: int,
    machine: dict[str, Any] | None = None,
    ledger: Ledger | None = None,
) -> dict[str, Any]:
    """The new results among those of earlier runs, in the order of the course. What the
    file has lost is in the `ledger`.
    """
    old = read() or {"tasks": []}
    card = machine or old.get("environment", {}).get("machine")
    tasks = {task["id"]: task for task in old["tasks"]}
    for result in results:
        new = _task(result, seed)
        if before := tasks.get(result.task.id):
            _keep(new, before, result)
        for rung in [rung for rung in new["rungs"] if "gates" in rung]:
            rung["gates"] = matrix.of((c["name"], c["verdict"]) for c in rung["checks"])
        tasks[result.task.id] = new
    for task in all_tasks():
        known = None if task.id in tasks else records.task_result(ledger, CHECKS, task)
        if known:
            tasks[task.id] = _task(known, seed)
    ordered = [tasks[task.id] for task in all_tasks() if task.id in tasks]
    return {
        "schema": SCHEMA,
        "seed": seed,
        "date": datetime.now().astimezone().isoformat(timespec="seconds"),
        "environment": environment() | ({"machine": card} if card else {}),
        "points": sum(t["points"] for t in ordered if t["core"]),
        "pending": sum(t["pending"] for t in ordered if t["core"]),
        "of": sum(t["of"] for t in ordered if t["core"]),
        "extra": sum(t["points"] for t in ordered if not t["core"]),
        "tasks": ordered,
    }


def _keep(new: dict[str, Any], before: dict[str, Any], result: TaskResult) -> None:
    """What this run did not look at stays while its file is the same: other rungs, and
    the other direction. Points follow from all of it.
    """
    graded = {rung["id"]: rung for rung in new["rungs"]}
    timed = {entry["direction"] for rung in new["rungs"] for entry in rung["speed"]}
    for rung in before["rungs"]:  # what was timed anew is not known from before
        rung["speed"] = [s for s in rung["speed"] if s["direction"] not in timed]
    files = {rung.id: rung.sha256 for rung in result.task.rungs}
    for rung in before["rungs"]:
        name = rung["id"]
        if files.get(name) != rung["sha256"]:
            continue
        if name not in graded:
            new["rungs"].append(rung)
            continue
        others = [c for c in rung["checks"] if c["direction"] not in result.asked]
        graded[name]["checks"] += others
        graded[name]["speed"] += rung["speed"]
    new["rungs"].sort(key=lambda rung: str(rung["id"]))
    both = [_points(new, direction, result.task) for direction in DIRECTIONS]
    new["points"], new["pending"] = (sum(column) for column in zip(*both))


def _points(task: dict[str, Any], direction: str, known: Task) -> tuple[float, float]:
    """Points earned and pending in one direction of a task in the file."""
    here = [rung for rung in task["rungs"] if not rung.get("needs")] or task["rungs"]
    verdicts = [verdict_of(rung, direction) for rung in here]
    word = next((w for w in ("PASS", "pending") if w in verdicts), "")
    band = known.speed.bands.get(direction) if known.speed else None
    timed = [
        (str(entry["verdict"]), band.earned(float(entry.get("share_high", 0))))
        for rung in task["rungs"]
        for entry in rung["speed"]
        if entry["direction"] == direction
        and band
        and (entry["case"], entry["of"]) == (band.case, band.of)
        and verdict_of(rung, direction) == "PASS"
    ]
    best = max(timed, key=lambda pair: pair[1], default=None)
    return parts(known, direction, word, best)


def verdict_of(rung: dict[str, Any], direction: str) -> str:
    """PASS, pending, or another word, for one direction of a rung in the file."""
    verdicts = [c["verdict"] for c in rung["checks"] if c["direction"] == direction]
    bad = next((verdict for verdict in verdicts if verdict != "PASS"), None)
    if bad is None:
        return "PASS" if verdicts else ""
    return "pending" if Verdict(bad).pending else str(bad)


def read() -> dict[str, Any] | None:
    """The result file, if there is one of this version that is not damaged."""
    return _read()[0]


def refusal() -> str:
    """Why a result file that is there cannot be read; "" otherwise."""
    return _read()[1]


def _read() -> tuple[dict[str, Any] | None, str]:
    """The result file, or why what is there cannot be read."""
    try:
        found = json.loads(path().read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None, ""
    except (OSError, ValueError, RecursionError) as error:
        return None, str(error) or type(error).__name__
    if wrong := misfit(found, json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))):
        return None, wrong
    return renamed.results(found), ""


def set_aside() -> str:
    """A result file that cannot be read gets another name, so that no run overwrites
    it. What to tell of it; "" if there is none.
    """
    if not (reason := refusal()):
        return ""
    try:
        kept = aside(path())
    except OSError as error:
        raise GraderError(explain(error, folder())) from error
    return (
        f"{near(path())} cannot be read ({reason}); it is kept as {near(kept)}, and "
        "the results of this run begin a new file"
    )


def write(results: dict[str, Any]) -> None:
    """Replace the result file in one step. Raises GraderError if that is impossible."""
    new = path().with_suffix(f".{os.getpid()}.new")
    try:
        with new.open("w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path())
    except OSError as error:
        new.unlink(missing_ok=True)
        raise GraderError(explain(error, folder())) from error
