# SPDX-License-Identifier: MIT
"""`make bench` times every selected rung on every speed case, or a network."""

from __future__ import annotations

import os
from dataclasses import replace

from grader import operators
from grader.bench import (
    extension_cell,
    extension_costs,
    gpu_ladders,
    ladders,
    networks,
)
from grader.bench.extension_cell import NAME as CELL
from grader.bench.request import Wanted
from grader.checks.speed.baseline import BOTH, VARIANTS
from grader.commands import said
from grader.course import rungs, tasks
from grader.course.rungs import Selection
from grader.engine import grade as grading
from grader.engine import results
from grader.errors import GraderError
from grader.toolchain import isa
from grader.toolchain.make import build_tools


def run() -> int:
    """Measure, print and write."""
    task, lab, net = map(said.text, ("T", "LAB", "NET"))
    if net and (task or lab):
        raise GraderError(f"NET={net} measures a whole network: leave out T= and LAB=")
    selection = _timed(tasks.select(task, lab))
    repeated = said.number("SEED")
    wanted = _wanted(grading.new_seed() if repeated is None else repeated)
    if not net:
        _verify_cases(selection, wanted)
    with results.lock():
        build_tools()
        if net:
            return networks.bench(net, wanted)
        languages = {task.language for task in selection.tasks}
        if {task.id for task in selection.tasks} == {f"05_torch_extension/{CELL}"}:
            return extension_cell.bench(wanted)
        if languages == {rungs.EXTENSION}:
            return extension_costs.bench(wanted)
        if "cuda" in languages and "c" not in languages:
            return gpu_ladders.bench(selection, wanted)
        return ladders.bench(selection, wanted)


def _timed(selection: Selection) -> Selection:
    """Without bug hunts and views: nobody waits for them."""
    timed = (t for t in selection.tasks if not (t.functions or t.is_hunt))
    left = tuple(timed)
    if not left and selection.tasks:
        raise GraderError(
            "make bench does not time bug hunts and views: check them with make grade"
        )
    return replace(selection, tasks=left)


def _verify_cases(selection: Selection, wanted: Wanted) -> None:
    """Raises GraderError for a case that no operator here has."""
    found = {task.operator for task in selection.tasks}
    known = {name for one in found for name in operators.get(one).speed_cases()}
    for name in wanted.cases:
        if name not in known:
            raise GraderError(
                f"CASES={name}: there is no such case, expected some of "
                f"{', '.join(sorted(known))}"
            )


def _wanted(seed: int) -> Wanted:
    """The words of `make bench`, for the run and for repeating it."""
    cores = len(os.sched_getaffinity(0))
    threads = said.number("THREADS", 1, cores) or 1
    counts, budget = said.one_of("COUNTS", ("on", "off")), said.number("BUDGET", 1, 60)
    names = (
        "T",
        "LAB",
        "NET",
        "THREADS",
        "PARTS",
        "AGAINST",
        "CASES",
        "COUNTS",
        "BUDGET",
    )
    words = {name: said.text(name) for name in names} | {"ISA": isa.held()}
    words["THREADS"] = str(threads) if threads > 1 else ""
    against = said.several("AGAINST")
    for name in against:
        if name not in VARIANTS[1:]:
            raise GraderError(
                f"AGAINST={name}: make bench knows no such variant of PyTorch, "
                f"expected some of {','.join(VARIANTS[1:])}"
            )
    parts = said.several("PARTS")
    for part in parts if not words["NET"] else ():
        if part not in ("forward", "backward", BOTH) and not part.startswith("grad_"):
            raise GraderError(
                f"PARTS={part}: expected some of forward,backward,{BOTH} and the "
                "operator's gradients, like grad_input"
            )
    label = words["T"] or words["LAB"] or words["NET"] or "all"
    many = f"_{threads}_threads" if threads > 1 else ""
    return Wanted(
        f"{label.strip('/').replace('/', '_')}{many}{isa.suffix()}",
        " ".join(f"{name}={word}" for name, word in words.items() if word),
        seed,
        threads,
        parts,
        against,
        said.several("CASES"),
        counts=counts == "on",
        budget=float(budget or 0),
    )
