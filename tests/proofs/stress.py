# SPDX-License-Identifier: MIT
"""The long proofs: cold runs, many seeds, every fault and mutation, border, stopwatch.

python -m tests.proofs.stress [PROOF ...] [--seeds N]   (make stress)

Each writes its table to docs/results. `make test` draws a sample of each.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from grader.checks.check_result import CheckResult
from grader.checks.subject import Subject
from grader.checks.values import compare, forward, gradient
from grader.course.rungs import Rung
from grader.course.tasks import all_tasks
from grader.runner.supervisor.cores import pin
from grader.toolchain.make import build_tools
from grader.verdicts import Verdict
from tests.grader.checks.memory import border
from tests.grader.checks.speed import stopwatch
from tests.labs import ulp
from tests.proofs import cold, dead_workers, pages, right, trust, watching
from tests.proofs.reference import reference_links, subject_of

SEEDS = """# Many seeds on the reference

Made by `python -m tests.proofs.stress seeds` on {}.
The last column: how much of the tolerance correct code used at most; 1 would be a
failure."""
# of mutations: 01 and 02; 03; 04; 200 of any rung; the views of 02; 120 of any rung
LISTS = ("02", "03", "04", "all", "views", "more")
GRADCHECK_EVERY = 10  # seeds; gradcheck takes longer than everything else together


@dataclass
class Margin:
    """How close correct code came to the tolerance: largest error / allowed error."""

    worst: float = 0.0
    checks: int = 0
    failures: list[str] = field(default_factory=list)

    def note(self, got: torch.Tensor, expected: compare.Expected) -> None:
        """Look at one output that was compared. Who computed it, and so its tolerance,
        is asked only where it makes a difference.
        """
        if used(got, expected) > self.worst:
            settled = expected.loose(got.dtype) if expected.loose else expected
            self.worst = max(self.worst, used(got, settled))

    def row(self, rung: Rung, count: int) -> str:
        """Its line in the table."""
        failed = len(self.failures)
        return pages.line([rung.id, count, self.checks, failed, f"{self.worst:.2f}"])


def used(got: torch.Tensor, expected: compare.Expected) -> float:
    """The largest error / allowed error of an output; 0 where it has to be equal."""
    if (expected.scale is None and expected.loose is None) or not got.numel():
        return 0.0
    error = (got.double() - expected.value).abs()
    ratio = error / compare.tolerance(expected, got.dtype)
    return float(torch.where(error > 0, ratio, 0.0).max())


def one_seed(
    subject: Subject, directions: tuple[str, ...], seed: int
) -> list[CheckResult]:
    """Every check of one rung with one seed."""
    cases = subject.operator.cases(seed)
    found = []
    for dtype in subject.dtypes:
        if "forward" in directions:
            found.append(forward.check(subject, cases, dtype, seed))
        if "backward" in directions:
            found.append(gradient.check(subject, cases, dtype, seed))
    if "backward" in directions and seed % GRADCHECK_EVERY == 0:
        found.append(gradient.gradcheck(subject, cases, seed))
    return found


def seeds(count: int, only: str = "") -> int:
    """The reference with many seeds: not one failure allowed. `only` begins the ids."""
    rows = pages.known_rows("seeds.md")
    failed = 0
    links = reference_links()
    for task in all_tasks():
        if task.language == "extension":  # its gates are many seeds' work: lab 05
            continue
        if not any(rung.id.startswith(only) for rung in task.rungs):
            continue
        for rung in [r for r in task.rungs if r.id.startswith(only)]:
            subject, directions = subject_of(rung, links)
            margin = proven(subject, directions, count)
            failed += len(margin.failures)
            rows[rung.id] = margin.row(rung, count)
            print(rows[rung.id], *margin.failures[:3], sep="\n  ", flush=True)
            write_seeds(rows)
            subject.close()
    return 1 if failed else 0


def proven(subject: Subject, directions: tuple[str, ...], count: int) -> Margin:
    """One rung with so many seeds."""
    margin = Margin()
    original = compare.Expected.settled

    def noting(expected: compare.Expected, got: torch.Tensor) -> compare.Expected:
        margin.note(got, expected)
        return original(expected, got)

    compare.Expected.settled = noting  # type: ignore[method-assign, assignment]
    try:
        for seed in range(count):
            for result in one_seed(subject, directions, seed):
                margin.checks += 1
                if result.verdict is not Verdict.PASS:
                    text = f"seed {seed} {result.name} {result.dtype}: "
                    margin.failures.append(text + result.message)
    finally:
        compare.Expected.settled = original  # type: ignore[method-assign, assignment]
    return margin


def write_seeds(rows: dict[str, str]) -> None:
    """The table, after every rung."""
    ids = [rung.id for task in all_tasks() for rung in task.rungs]
    lines = [rows[name] for name in ids if name in rows]
    head = ["rung", "seeds", "checks", "failures", "largest error / allowed"]
    table = "\n".join([*pages.table(head, []), *lines])
    pages.write("seeds.md", SEEDS.format(pages.machine()), table)


def mutations(lab: str) -> int:
    """Every drawn mutation of one list (LISTS), or ("") of all."""
    from tests.proofs.mutations import (
        run,
        run_all,
        run_cuda,
        run_ladders,
        run_more,
        run_views,
    )

    ours = run, run_ladders, run_cuda, run_all, run_views, run_more
    proofs = [module.PROOF for module in ours]
    lists = dict(zip(LISTS, proofs, strict=True))
    chosen = [lists[lab]] if lab else lists.values()
    return sum(proof.main(["--as-is", "--write"]) for proof in chosen)


def cusim(orders: int) -> int:
    """CUDA on the CPU: bugs, false alarms, cost."""
    from tests.common.cusim import cusim_proof

    return cusim_proof.main(orders, pages.machine())


def ncu(only: str) -> int:
    """cusim's counts and a card's: of four kernels, and of every rung."""
    from tests.common.cusim import against_ncu, rungs_under_ncu

    found = against_ncu.main(pages.machine())
    return rungs_under_ncu.main(pages.machine(), only) or found


PROOFS: dict[str, Callable[[argparse.Namespace], int]] = {
    "cold": lambda args: cold.main(["--runs", str(args.runs), "--write"]),
    "border": lambda _: border.main(["--write"]),
    "stopwatch": lambda _: stopwatch.main(["--write"]),
    "faults": lambda _: trust.main(["--write"]),
    "seeds": lambda args: seeds(args.seeds, args.only),
    "right": lambda args: right.right(args.seeds, args.only),
    "mutations": lambda args: mutations(args.lab),
    "cusim": lambda args: cusim(args.orders),
    "ncu": lambda args: ncu(args.only),
    "ulp": lambda _: ulp.main([]),
    "class": lambda args: dead_workers.compared(args.students, seed=7),
    "watch": lambda args: watching.main(args.saves, args.only),
}


def main(arguments: list[str]) -> int:
    """Run the proofs asked for, all by default; 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.proofs.stress")
    parser.add_argument("proofs", nargs="*", choices=[*PROOFS, []])
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--runs", type=int, default=10, help="cold: whole gradings")
    parser.add_argument("--only", default="", help="ids that begin so")
    lists = ("", *LISTS)
    parser.add_argument("--lab", default="", choices=lists, help="mutations: a list")
    parser.add_argument("--orders", type=int, default=100, help="cusim: of threads")
    parser.add_argument("--students", type=int, default=300, help="class: so many")
    parser.add_argument("--saves", type=int, default=20, help="watch: of each file")
    args = parser.parse_args(arguments)
    build_tools()
    torch.set_num_threads(1)
    pin()
    failed = 0
    for proof in args.proofs or PROOFS:
        start = time.monotonic()
        print(f"== {proof}", flush=True)
        failed += PROOFS[proof](args)
        print(f"== {proof}: {time.monotonic() - start:.0f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
