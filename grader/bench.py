# SPDX-License-Identifier: MIT
"""`make bench`: every rung of a selection on every speed case, against PyTorch.

Prints one Markdown table, writes the same as JSON and two pictures to docs/results. No
row without right values: every round's results are compared while the clock stands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from grader import machine, operators
from grader.build import Build, build_folder
from grader.checks import speed
from grader.checks.speed import Speed
from grader.checks.subject import Subject
from grader.errors import GraderError
from grader.linking import Links
from grader.report import results, terminal
from grader.score import DIRECTIONS
from grader.supervisor.session import pin
from grader.tasks import ROOT, Rung, Selection, Task
from grader.verdicts import Verdict

COLUMNS = (
    "rung",
    "direction",
    "case",
    "values",
    "ms",
    "95 % interval",
    "GFLOP/s",
    "% of peak",
    "x PyTorch",
    "baseline",
)


@dataclass(frozen=True)
class Row:
    """One measurement: a rung, a direction, a case."""

    rung: Rung
    speed: Speed


def folder() -> Path:
    """Where tables and pictures go: docs/results, in a handout build/bench."""
    kept = ROOT / "docs" / "results"
    return kept if kept.exists() else build_folder() / "bench"


def bench(selection: Selection, seed: int, label: str) -> int:
    """Measure, print, write. Returns 1 if some values were wrong, else 0.

    `label` names the files. Raises GraderError if nothing selected can be timed.
    """
    tasks = [task for task in selection.tasks if task.language == "c"]
    if not tasks:
        raise GraderError(
            "nothing to time: bench measures the rungs in C, labs 02 and 03 (lab 01 is "
            "Python, where most of the time goes into calling PyTorch)"
        )
    torch.set_num_threads(1)
    machine.keep_memory()
    pin()
    rows: list[Row] = []
    count = sum(len(task.rungs) for task in tasks)
    with machine.Card() as card, terminal.progress(count) as step:
        for task in tasks:
            rows += _task(task, selection, seed, card, step)
        peaks = card.as_json()
    if not rows:
        raise GraderError(f"nothing to time: no rung of {label} is written yet")
    print("\n".join(table(rows)))
    print(f"\n{_machine(peaks)}")
    written = write(rows, peaks, label, seed)
    terminal.say(f"written: {', '.join(results.near(path) for path in written)}")
    wrong = (Verdict.PASS, Verdict.NOISY)
    return int(any(row.speed.verdict not in wrong for row in rows))


def _task(
    task: Task, selection: Selection, seed: int, card: machine.Card, step: Any
) -> Iterator[Row]:
    """All rungs of a ladder; one that lacks a direction borrows the nearest lower."""
    from grader.grade import Progress

    operator = operators.get(task.operator)
    links = Links()
    lower: dict[str, Build] = {}
    for done, rung in enumerate(task.rungs):
        built = links.build(rung)
        for direction in built.directions:
            lower[direction] = built
        if rung.id not in selection.rungs or not built.libraries:
            continue
        pair = [lower.get(direction, built) for direction in DIRECTIONS]
        subject = Subject(
            operator,
            libraries={
                dtype: (pair[0].libraries[dtype], pair[1].libraries[dtype])
                for dtype in built.libraries
            },
        )
        try:
            for case in operator.speed_cases().values():
                for direction in built.directions:
                    step(Progress(rung.id, f"{case.name} {direction}", done, 0))
                    found = speed.check(subject, case, direction, None, seed, card)
                    if found.verdict is Verdict.NOT_IMPLEMENTED:
                        continue
                    yield Row(rung, found)
        finally:
            subject.close()


# ---- the table -----------------------------------------------------------------------


def cells(row: Row) -> list[str]:
    """One line of the table, as text."""
    found = row.speed
    entry = results.speed_entry(found, 0.0)
    if "ms" not in entry:
        words = [found.verdict.value, *[""] * 5]
        return [row.rung.id, found.direction, found.case, *words, found.baseline]
    ratio = found.ratio
    assert ratio is not None
    noisy = " NOISY" if found.verdict is Verdict.NOISY else ""
    middle, low, high = (f"{x:.3g}" for x in (ratio.value, ratio.low, ratio.high))
    return [
        row.rung.id,
        found.direction,
        found.case,
        f"{found.worst:.2f} of tol",
        f"{entry['ms']:.3f}",
        f"{low} .. {high}{noisy}",
        f"{entry['gflops']:.2f}" if "gflops" in entry else "-",
        f"{entry['percent_of_peak']:.1f}" if "gflops" in entry else "-",
        f"{middle}",
        found.baseline,
    ]


def table(rows: list[Row]) -> list[str]:
    """Markdown, aligned."""
    grid = [list(COLUMNS), *(cells(row) for row in rows)]
    widths = [max(len(line[i]) for line in grid) for i in range(len(COLUMNS))]
    right = range(4, 9)
    rule = [
        "-" * (width - 1) + ":" if i in right else "-" * width
        for i, width in enumerate(widths)
    ]
    lines = []
    for line in (grid[0], rule, *grid[1:]):
        padded = [
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(line, widths))
        ]
        lines.append(f"| {' | '.join(padded)} |")
    return lines


def _machine(peaks: dict[str, Any]) -> str:
    """The machine card in two lines."""
    environment = results.environment()
    sizes = ", ".join(
        f"{b['gbs']:.0f} GB/s in {_size(b['bytes'])}" for b in peaks["bandwidth"]
    )
    return (
        f"{environment['cpu']}, {environment['compiler']}, torch "
        f"{environment['torch']}, 1 thread; peak {peaks['fma_gflops']:.0f} GFLOP/s, "
        f"scalar {peaks['multiply_add_gflops']:.1f} GFLOP/s; triad {sizes}; peak moved "
        f"by {100 * peaks['moved']:.0f} % during the run. The interval is that of the "
        "ratio to PyTorch."
    )


def _size(count: int) -> str:
    return f"{count >> 20} MiB" if count >= 1 << 20 else f"{count >> 10} KiB"


def write(
    rows: list[Row], peaks: dict[str, Any], label: str, seed: int
) -> tuple[Path, ...]:
    """JSON and two pictures. Returns their paths."""
    from grader.report import plots

    results.make_folder(folder())
    stem = "bench_" + re.sub(r"[^a-z0-9_]+", "_", label)
    entries = [
        {
            "task": row.rung.task,
            "rung": row.rung.id,
            "sha256": row.rung.sha256,
            "values": row.speed.worst,
            **results.speed_entry(row.speed, 0.0),
        }
        for row in rows
    ]
    environment = {**results.environment(), "machine": peaks}
    command = f"make bench T={label} SEED={seed}"
    whole = {"command": command, "environment": environment, "rows": entries}
    ends = (".json", "_ladder.png", "_roofline.png")
    paths = [folder() / f"{stem}{end}" for end in ends]
    try:
        paths[0].write_text(json.dumps(whole, indent=1) + "\n")
        plots.ladder(entries, paths[1])
        if any("gflops" in entry for entry in entries):
            plots.roofline(entries, peaks, paths[2])
        else:  # copies and element-wise operators have no place in it
            paths.pop()
    except OSError as error:
        raise GraderError(results.explain(error, folder())) from error
    return tuple(paths)
