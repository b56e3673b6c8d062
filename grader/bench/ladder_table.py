# SPDX-License-Identifier: MIT
"""Prints the table of `make bench` for ladders: Markdown, aligned, as wide as possible.

A file or a pipe gets all columns. If a terminal is too narrow, the rungs lose the
common part of their names. Then columns are left out, the least important first,
because wrapped lines are not a table.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence

from grader.bench.request import Row
from grader.course.rungs import Rung
from grader.verdicts import Verdict

RUNG, ERROR, MS, RATIO = "rung", "error (PyTorch's)", "ms", "x PyTorch"
BY, INTERVAL, BASELINE = "computed by", "95 % interval", "baseline"
FLOPS, PEAK = "GFLOP/s", "% of peak"
COLUMNS = (
    *(RUNG, "part", "case", BY, ERROR),
    *(MS, FLOPS, PEAK, RATIO),
    *(INTERVAL, BASELINE),
)
TO_THE_RIGHT = (MS, FLOPS, PEAK, RATIO)
FIRST_TO_GO = (BASELINE, BY, PEAK, ERROR, FLOPS, INTERVAL)
Cells = dict[str, str]  # by column


def fitted(rows: Sequence[Row], width: int | None) -> tuple[list[str], list[str]]:
    """The lines of the table, and a sentence about what they had no room for. Without a
    `width` they have room for everything.
    """
    lines = _aligned([_cells(row) for row in rows], COLUMNS)
    if width is None or len(lines[0]) <= width:
        return lines, []
    shared = os.path.commonpath([row.rung.task for row in rows])
    for count in range(len(FIRST_TO_GO) + 1):
        gone = FIRST_TO_GO[:count]
        cells = [_narrow(row, shared, gone) for row in rows]
        lines = _aligned(cells, [name for name in COLUMNS if name not in gone])
        if len(lines[0]) <= width:
            break
    said = f"rungs of {shared}" if shared else ""
    if gone:
        lost = (
            f"the terminal has no room for {', '.join(gone)} ({width} characters a "
            "line): see the .json file"
        )
        said = f"{said}; {lost}" if said else lost
    return lines, [said] if said else []


def _cells(row: Row) -> Cells:
    """All of a line, as text."""
    found = row.speed
    by = " + ".join(_short(row.rung, name) for name in row.by)
    cells = {RUNG: row.rung.id, "part": row.part, "case": found.case, BY: by}
    cells[BASELINE] = found.baseline
    if found.ms is None or found.ratio is None:
        return {**cells, ERROR: found.verdict.value}
    ratio = found.ratio
    noisy = " NOISY" if found.verdict is Verdict.NOISY else ""
    middle, low, high = (f"{x:.3g}" for x in (ratio.value, ratio.low, ratio.high))
    others = "".join(f"; {v} {r.value:.3g}" for v, r in found.others.items())
    peak, flops = found.percent_of_peak, found.gflops
    return {
        **cells,
        ERROR: f"{found.errors[0]:.0e} ({found.errors[1]:.0e})",
        MS: f"{found.ms:.3f}",
        FLOPS: "-" if flops is None else f"{flops:.2f}",
        PEAK: "-" if peak is None else f"{peak:.1f}",
        RATIO: middle,
        INTERVAL: f"{low} .. {high}{noisy}",
        BASELINE: found.baseline + others,
    }


def _narrow(row: Row, shared: str, gone: Collection[str]) -> Cells:
    """The same without what the names of all rungs begin with. A verdict is not lost
    with its column.
    """
    cells = _cells(row)
    cells[RUNG] = cells[RUNG].removeprefix(f"{shared}/")
    if ERROR in gone and MS not in cells:
        cells[MS] = cells[ERROR]
    if INTERVAL in gone and cells.get(INTERVAL, "").endswith("NOISY"):
        cells[RATIO] += " NOISY"
    return cells


def _short(rung: Rung, name: str) -> str:
    """A file's name within its ladder; "itself" for the rung."""
    return "itself" if name == rung.id else name.removeprefix(f"{rung.task}/")


def _aligned(rows: Sequence[Cells], columns: Sequence[str]) -> list[str]:
    """Markdown whose columns stand below each other."""
    grid = [[row.get(name, "") for name in columns] for row in rows]
    widths = [max(map(len, cells)) for cells in zip(columns, *grid)]
    right = [name in TO_THE_RIGHT for name in columns]
    rule = [
        "-" * (width - 1) + ":" if to_right else "-" * width
        for width, to_right in zip(widths, right)
    ]
    lines = []
    for line in (columns, rule, *grid):
        padded = [
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(line, widths, right)
        ]
        lines.append(f"| {' | '.join(padded)} |")
    return lines
