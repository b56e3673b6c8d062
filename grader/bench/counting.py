# SPDX-License-Identifier: MIT
"""Counts what a kernel does, without a card: nothing is timed.

A direction of a rung has one row. It holds the kernels' accesses to memory (cusim). It
also holds nvcc's figures: registers, spills, and how many warps fit. `make bench` of
lab 04 writes the rows to counts_04.json, and READMEs take them from there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from signatures import DIRECTIONS

from grader.checks.check_result import Stopped
from grader.checks.cuda import cusim_report, moved, under_cusim
from grader.checks.subject import Subject
from grader.checks.values.prepared import prepare
from grader.course.rungs import HALF, Rung, Task
from grader.course.tasks import all_tasks
from grader.course.traffic import MEANING
from grader.engine import results
from grader.engine.checking.runnable import to_time
from grader.errors import GraderError
from grader.operators import Case, Operator
from grader.operators.cost import cost
from grader.runner.supervisor.call import Placement, Run
from grader.toolchain import gpu_probe, nvcc
from grader.toolchain.linking import Links
from grader.toolchain.products import TRACE
from grader.verdicts import Verdict

FILE = "counts_04.json"


@dataclass(frozen=True)
class Counted:
    """One direction of one rung, on one case, in f32."""

    task: str
    rung: str
    sha256: str
    direction: str
    case: str
    bytes: int  # of global memory: 32 for each sector, before any cache
    least: int  # bytes: each input read once, each output written once
    requests: int
    sectors: float  # a request; 0 without any
    wavefronts: float  # a request of shared memory
    architecture: str  # of what follows; "" without nvcc
    registers: int  # the most of any kernel
    spills: int  # bytes, of all
    shared: int  # bytes of a block, static, the most
    occupancy: float  # the least, of the warps that a multiprocessor holds


def of_task(
    task: Task, rungs: Sequence[Rung], links: Links, seed: int
) -> list[Counted]:
    """The rows of a ladder. A rung has none if it cannot be built or run here, or is
    for f16 only: in f32 a lower rung would be counted.
    """
    from grader import operators

    operator = operators.get(task.operator)
    found = []
    for rung in [rung for rung in rungs if rung.numerics != HALF]:
        built = links.build(rung, mode=TRACE)
        if under_cusim.DTYPE not in built.libraries:
            continue
        subject = to_time(rung, links, TRACE)
        if subject is None:
            continue
        made = nvcc.compile(rung)
        try:
            for direction in [d for d in DIRECTIONS if d in built.directions]:
                case = case_of(rung, operator, direction, seed)
                row = _row(subject, rung, direction, case, made, seed)
                found += [row] if row else []
        finally:
            subject.close()
    return found


def case_of(rung: Rung, operator: Operator, direction: str, seed: int) -> Case:
    """The case that lab.toml counts on; else the first that is timed."""
    cases = {case.name: case for case in operator.cases(seed)}
    cases |= operator.speed_cases()
    named = [limits.case for limits in rung.traffic if limits.direction == direction]
    usual = next(iter(operator.speed_cases(large=False)), next(iter(cases)))
    name = next(iter(named), usual)
    if name not in cases:
        raise GraderError(
            f"{rung.id}: in lab.toml 'traffic' names the case {name!r}, but the "
            f"operator {operator.name} has no case of this name"
        )
    return cases[name]


def _row(
    subject: Subject,
    rung: Rung,
    direction: str,
    case: Case,
    made: nvcc.Compiled,
    seed: int,
) -> Counted | None:
    call = prepare(subject, case, 0, direction, under_cusim.DTYPE, seed)
    call.call.request.placement = Placement.ALIGN
    call.call.request.run |= Run.COUNT
    call.call.limit *= under_cusim.SLOWER["traffic"]
    subject.begin()
    try:
        if subject.run(call.call, case, under_cusim.DTYPE):
            return None
    except Stopped:
        return None
    counts = cusim_report.report_of(subject.worker(under_cusim.DTYPE)).counts
    if not counts:
        return None
    outputs = subject.operator.outputs(call.inputs, case)
    need = cost(subject.operator, case, call.inputs, outputs, direction=direction)
    number = {word: moved.counted(word, counts) for word in MEANING}
    return Counted(
        rung.task,
        rung.id,
        rung.sha256,
        direction,
        case.name,
        int(number["bytes"]),
        int(need.bytes),
        int(number["requests"]),
        number["global_sectors_per_request"],
        number["shared_wavefronts_per_request"],
        **_compiled(made),
    )


def _compiled(made: nvcc.Compiled) -> dict[str, Any]:
    """What nvcc said of the kernels, for this card or the newest that it was told."""
    names = sorted({kernel.architecture for kernel in made.kernels})
    card = gpu_probe.card()
    mine = card.architecture if card and card.architecture in names else ""
    name = mine or (names[-1] if names else "")
    chosen = [kernel for kernel in made.kernels if kernel.architecture == name]
    if made.verdict is not Verdict.PASS or not chosen:
        empty = {"registers": 0, "spills": 0, "shared": 0, "occupancy": 0.0}
        return {"architecture": "", **empty}
    return {
        "architecture": name,
        "registers": max(kernel.registers for kernel in chosen),
        "spills": sum(kernel.spills for kernel in chosen),
        "shared": max(kernel.shared for kernel in chosen),
        "occupancy": min(kernel.occupancy or 0.0 for kernel in chosen),
    }


# ---- as a file, as a table -----------------------------------------------------------


def write(rows: Sequence[Counted], folder: Path, command: str) -> Path:
    """The rows among those of other rungs that are there already, and still count."""
    results.make_folder(folder)
    path = folder / FILE
    new = {(row.rung, row.direction): asdict(row) for row in rows}
    old = {}
    if path.exists():
        entries = json.loads(path.read_text())["rows"]
        rungs = {rung.id: rung for task in all_tasks() for rung in task.rungs}
        mine = {name for name, rung in rungs.items() if rung.numerics != HALF}
        old = {(r["rung"], r["direction"]): r for r in entries if r["rung"] in mine}
    whole = {
        "command": command,
        "environment": {**results.environment(), "nvcc": nvcc.release()},
        "rows": [row for _, row in sorted({**old, **new}.items())],
    }
    path.write_text(json.dumps(whole, indent=1) + "\n")
    return path
