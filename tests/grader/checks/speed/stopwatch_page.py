# SPDX-License-Identifier: MIT
"""What is wanted of the stopwatch, and the page that says so.

The limits stand here once: for the judgement, and for docs/results/stopwatch.md.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from grader.course.rungs import Task
from tests.proofs import pages

TRUE_RATIO = 1.5
RUNS = 50
POINT_RUNS = 20
FAIR = 0.05  # of a time, that our path may add or lose

HEADS = {
    "ratio": ("machine", "runs", "NOISY", "worst error of the others", "median error"),
    "fairness": (
        "operator",
        "direction",
        "case",
        "benchmark, ms",
        "ours, ms",
        "ours / benchmark",
        "ours, fresh inputs, ms",
        "interleaved, ms",
    ),
    "points": (
        "ladder",
        "speed points",
        "runs",
        "least",
        "most",
        "NOISY, of two each run",
    ),
}
PAGE = """# How far the stopwatch can be trusted

Made by `python -m tests.proofs.stress stopwatch` on {machine}.

## Two C functions that differ by 1.5

One in the supervisor's process, as PyTorch is, one in a worker, as a rung is. Wanted on
the busy machine: every run within {busy_within} or NOISY, at most {busy_noisy} of
{runs} NOISY. On a quiet one: within {quiet_within}, at most {quiet_noisy} NOISY.

{ratio}

## PyTorch alone through our path

The best of five medians each, in turn, on the same tensors, which stay in place. Wanted
is a difference of at most {fair}. Beside it: the same with fresh inputs in each call,
as both sides have them in a grading, and between samples of another side. What fresh
ones cost is the price of caches that hold something else; the student pays it too.

{fairness}

## The reference's speed points

Wanted: the same in every run.

{points}
"""


@dataclass(frozen=True)
class Table:
    """A proof's rows, and in which of them it fails."""

    rows: list[list[str]]
    wrong: list[str]


@dataclass(frozen=True)
class Machine:
    """What the ratio is measured on, and what is wanted there."""

    name: str
    loops: int  # endless ones beside it
    within: float  # of the true ratio, each run that is not NOISY
    noisy: int  # runs of RUNS, at most


QUIET = Machine("quiet", 0, 0.04, 2)
BUSY = Machine("two busy loops on the same cores", 2, 0.05, 25)


def ratio_row(where: Machine, found: list[float | None]) -> Table:
    """What came of the runs on a machine; "-" where all of them were NOISY."""
    errors = [abs(r / TRUE_RATIO - 1) for r in found if r is not None]
    worst, middle = (
        f"{100 * of(errors):.1f} %" if errors else "-"
        for of in (max, statistics.median)
    )
    noisy = found.count(None)
    wrong = []
    if noisy > where.noisy or not errors:
        wrong.append(f"{where.name}: {noisy} of {len(found)} runs are NOISY")
    if max(errors, default=0) > where.within:
        wrong.append(f"{where.name}: a run is off by {worst}")
    return Table([[where.name, str(len(found)), str(noisy), worst, middle]], wrong)


def unfair(name: str, ratio: float) -> list[str]:
    """What is wrong with our time of an operator as a share of the benchmark's."""
    off = abs(ratio - 1)
    return [] if off <= FAIR else [f"{name} is off by {100 * off:.1f} %"]


def points_row(task: Task, values: list[float], noisy: int) -> Table:
    """The speed points of a ladder in the runs that gave some, "-" if none did."""
    assert task.speed
    least, most = (f"{of(values):g}" if values else "-" for of in (min, max))
    wrong = []
    if least != most or not values:
        wrong.append(f"{task.id} has {least} to {most} speed points")
    cells = [task.id, f"{task.speed.points:g}", str(POINT_RUNS)]
    return Table([[*cells, least, most, str(noisy)]], wrong)


def percent(share: float) -> str:
    """A share as people write it."""
    return f"{100 * share:g} %"


def lines(proof: str, table: Table) -> list[str]:
    """A proof's table as Markdown."""
    return pages.table(HEADS[proof], table.rows, words=1 + 2 * (proof == "fairness"))


def page(tables: dict[str, Table]) -> str:
    """The page of docs/results."""
    wanted = {
        "busy_within": percent(BUSY.within),
        "busy_noisy": BUSY.noisy,
        "quiet_within": percent(QUIET.within),
        "quiet_noisy": QUIET.noisy,
        "runs": RUNS,
        "fair": percent(FAIR),
    }
    text = {name: "\n".join(lines(name, table)) for name, table in tables.items()}
    return PAGE.format(machine=pages.machine(), **wanted, **text)
