# SPDX-License-Identifier: MIT
"""`make bench`: time every rung that is selected on every speed case, or a network."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace

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
from grader.course import rungs, tasks
from grader.course.rungs import Selection
from grader.engine import grade as grading
from grader.engine import results
from grader.errors import GraderError
from grader.toolchain import isa
from grader.toolchain.make import build_tools


def run(args: argparse.Namespace) -> int:
    """Measure, print and write."""
    if args.net and (args.task or args.lab):
        raise GraderError(
            f"NET={args.net} times a whole network; leave T= and LAB= away"
        )
    selection = _timed(tasks.select(args.task, args.lab))
    seed = grading.new_seed() if args.seed is None else args.seed
    with results.lock():
        build_tools()
        wanted = _wanted(args, seed)
        if args.net:
            return networks.bench(args.net, wanted)
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
        raise GraderError("bug hunts and views are not timed: make grade checks them")
    return replace(selection, tasks=left)


def _wanted(args: argparse.Namespace, seed: int) -> Wanted:
    """The words of `make bench`, for the run and for repeating it."""
    said = {
        "T": args.task,
        "LAB": args.lab,
        "NET": args.net,
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
    for part in parts if not args.net else ():
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
    label = (args.task or args.lab or args.net or "all").strip("/").replace("/", "_")
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
