# SPDX-License-Identifier: MIT
"""`make bench`: time every rung that is selected on every speed case."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace

from grader.bench import extension_cell, extension_costs, gpu_ladders, ladders
from grader.bench.extension_cell import NAME as CELL
from grader.bench.request import Wanted
from grader.checks.speed.baseline import BOTH, VARIANTS
from grader.course import rungs, tasks
from grader.engine import grade as grading
from grader.engine import results
from grader.errors import GraderError
from grader.toolchain import isa
from grader.toolchain.make import build_tools


def run(args: argparse.Namespace) -> int:
    """Measure, print and write."""
    selection = tasks.select(args.task, args.lab)
    timed = tuple(task for task in selection.tasks if not task.is_hunt)
    if not timed:
        raise GraderError("a bug hunt is not timed: make grade checks its files")
    selection = replace(selection, tasks=timed)
    seed = grading.new_seed() if args.seed is None else args.seed
    with results.lock():
        build_tools()
        wanted = _wanted(args, seed)
        languages = {task.language for task in selection.tasks}
        if {task.id for task in selection.tasks} == {f"05_torch_extension/{CELL}"}:
            return extension_cell.bench(wanted)
        if languages == {rungs.EXTENSION}:
            return extension_costs.bench(wanted)
        if "cuda" in languages and "c" not in languages:
            return gpu_ladders.bench(selection, wanted)
        return ladders.bench(selection, wanted)


def _wanted(args: argparse.Namespace, seed: int) -> Wanted:
    """The words of `make bench`, for the run and for repeating it."""
    said = {
        "T": args.task,
        "LAB": args.lab,
        "THREADS": args.threads if args.threads > 1 else None,
        "PARTS": args.parts,
        "AGAINST": args.against,
        "CASES": args.cases,
        "ISA": isa.held(),
    }
    against = tuple(filter(None, (args.against or "").split(",")))
    for name in against:
        if name not in VARIANTS[1:]:
            raise GraderError(
                f"AGAINST={name}: PyTorch has no such variant here, expected some of "
                f"{','.join(VARIANTS[1:])}"
            )
    parts = tuple(filter(None, (args.parts or "").split(",")))
    for part in parts:
        if part not in ("forward", "backward", BOTH) and not part.startswith("grad_"):
            raise GraderError(
                f"PARTS={part}: expected some of forward,backward,{BOTH} and the "
                "operator's gradients, like grad_input"
            )
    cores = len(os.sched_getaffinity(0))
    if not 1 <= args.threads <= cores:
        raise GraderError(
            f"THREADS={args.threads}: expected 1 to {cores}, the cores of this machine"
        )
    label = (args.task or args.lab or "all").strip("/").replace("/", "_")
    many = f"_{args.threads}_threads" if args.threads > 1 else ""
    return Wanted(
        f"{label}{many}{isa.suffix()}",
        " ".join(f"{name}={word}" for name, word in said.items() if word),
        seed,
        args.threads,
        parts,
        against,
        tuple(filter(None, (args.cases or "").split(","))),
    )
