# SPDX-License-Identifier: MIT
"""Shows for `make grade TIMES=1` how long each check and each file took."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from rich.table import Table

from grader.engine.score import TaskResult
from grader.report.terminal import console

SLOWEST = 8  # files that are named


def table(results: Iterable[TaskResult]) -> None:
    """The seconds of what this run has asked: answers from before took none of them."""
    checks: dict[tuple[str, str], float] = defaultdict(float)
    files: dict[str, float] = defaultdict(float)
    for task in results:
        for result in task.rungs:
            if result.since:
                continue
            for check in result.checks:
                checks[task.task.lab, check.name] += check.seconds
                files[result.rung.id] += check.seconds
    if not files:
        console.print("\nNo check ran: all results are from earlier runs.")
        return
    console.print(_checks(checks))
    console.print(_files(files))


def _checks(spent: Mapping[tuple[str, str], float]) -> Table:
    labs = sorted({lab for lab, _ in spent})
    totals: dict[str, float] = defaultdict(float)
    for (_, name), seconds in spent.items():
        totals[name] += seconds
    grid = _grid("\nseconds by check", [lab.partition("_")[0] for lab in labs])
    for name, total in _largest(totals):
        cells = [spent.get((lab, name), 0.0) for lab in labs]
        grid.add_row(name, *(f"{x:.1f}" if x else "" for x in cells), f"{total:.1f}")
    return grid


def _files(spent: Mapping[str, float]) -> Table:
    grid = _grid("\nthe slowest files", [])
    ordered = _largest(spent)
    for name, seconds in ordered[:SLOWEST]:
        grid.add_row(name, f"{seconds:.1f}")
    if others := ordered[SLOWEST:]:
        rest = sum(seconds for _, seconds in others)
        grid.add_row(f"{len(others)} others", f"{rest:.1f}")
    return grid


def _largest(spent: Mapping[str, float]) -> list[tuple[str, float]]:
    """Names with their seconds, the most first."""
    return sorted(spent.items(), key=lambda pair: -pair[1])


def _grid(title: str, columns: list[str]) -> Table:
    words = {"title_justify": "left", "header_style": "bold", "padding": (0, 2, 0, 0)}
    grid = Table(title=title, box=None, pad_edge=False, **words)  # type: ignore[arg-type]
    grid.add_column("")
    for column in (*columns, "all" if columns else "s"):
        grid.add_column(column, justify="right")
    return grid
