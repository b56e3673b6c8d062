# SPDX-License-Identifier: MIT
"""`make bench` times every selected rung on every speed case, or a network."""

from __future__ import annotations

import os
from dataclasses import replace

from grader import operators
from grader.bench import extension_cell, extension_costs, gpu_ladders, ladders, networks
from grader.bench.extension_cell import NAME as CELL
from grader.bench.request import Wanted
from grader.checks.speed.baseline import BOTH, VARIANTS
from grader.course import rungs, tasks
from grader.course.rungs import Selection
from grader.engine import grade as grading
from grader.engine import results
from grader.errors import GraderError
from grader.options import (
    LAB,
    SEED,
    Arguments,
    Option,
    T,
    number,
    one_of,
    several,
    text,
)
from grader.toolchain import isa
from grader.toolchain.make import build_tools


def _threads(name: str, value: str) -> int:
    """At most one on each core; 1 if there is no number."""
    return number(1, len(os.sched_getaffinity(0)))(name, value) or 1


NET = Option("NET", "resnet18, mobilenet, unet", text)
THREADS = Option("THREADS", "how many threads", _threads)
PARTS = Option("PARTS", "forward,backward,grad_input,...", several)
AGAINST = Option(
    "AGAINST", "also these variants of PyTorch: slow2d,channels_last", several
)
CASES = Option("CASES", "only the cases with these names", several)
COUNTS = Option(
    "COUNTS", "lab 04: off leaves out what cusim counts", one_of("on", "off")
)
BUDGET = Option(
    "BUDGET",
    "lab 04: how many seconds each row of the table takes on a GPU",
    number(1, 60),
)
OPTIONS = (T, LAB, NET, THREADS, PARTS, AGAINST, CASES, COUNTS, BUDGET, SEED)


def run(arguments: Arguments) -> int:
    """Measure, print and write."""
    task, lab, net = arguments[T], arguments[LAB], arguments[NET]
    if net and (task or lab):
        raise GraderError(f"NET={net} measures a whole network: leave out T= and LAB=")
    selection = _timed(tasks.select(task, lab))
    repeated = arguments[SEED]
    wanted = _wanted(arguments, grading.new_seed() if repeated is None else repeated)
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
    cases = {name for one in found for name in operators.get(one).speed_cases()}
    for name in wanted.cases:
        if name not in cases:
            raise GraderError(
                f"CASES={name}: there is no such case, expected some of "
                f"{', '.join(sorted(cases))}"
            )


def _wanted(arguments: Arguments, seed: int) -> Wanted:
    """The words of `make bench`, for the run and for repeating it."""
    threads, against = arguments[THREADS], arguments[AGAINST]
    words = {**arguments.words, "SEED": "", "ISA": isa.held()}
    words["THREADS"] = str(threads) if threads > 1 else ""
    for name in against:
        if name not in VARIANTS[1:]:
            raise GraderError(
                f"AGAINST={name}: make bench knows no such variant of PyTorch, "
                f"expected some of {','.join(VARIANTS[1:])}"
            )
    parts = arguments[PARTS]
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
        arguments[CASES],
        counts=arguments[COUNTS] == "on",
        budget=float(arguments[BUDGET] or 0),
    )
