# SPDX-License-Identifier: MIT
"""`make bench` times every selected rung on every speed case, against PyTorch.

It prints one Markdown table. It writes the same as JSON and two pictures, see folder().
A row has right values: every round's results are compared while the clock is stopped. A
row names the file that did the work. If a rung leaves a case to a lower rung, it has no
row.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from signatures import DIRECTIONS

from grader import operators
from grader.bench import ladder_table
from grader.bench.request import Row, Wanted, command, folder, machine_words, recorded
from grader.checks.speed import machine, speed
from grader.checks.speed.baseline import BOTH
from grader.checks.subject import Subject
from grader.course.rungs import Rung, Selection, Task
from grader.engine import results
from grader.engine.checking.compiling import Builds
from grader.engine.checking.runnable import Trial, to_time
from grader.errors import GraderError
from grader.operators import Case, Operator
from grader.report import bench_page, terminal
from grader.runner.supervisor.cores import pin
from grader.toolchain.linking import OWN_FILES
from grader.toolchain.make import build_folder
from grader.toolchain.products import Build
from grader.verdicts import Verdict

SECONDS = 3.0  # that one time takes, mostly


def bench(selection: Selection, wanted: Wanted) -> int:
    """Measure, print, write. Returns 1 if some values were wrong, else 0.

    Raises GraderError if nothing selected can be timed.
    """
    tasks = [task for task in selection.tasks if task.language == "c"]
    if not tasks:
        raise GraderError(
            "nothing to time: bench measures the rungs of labs 02 to 04. Lab 01 is "
            "Python, and most of its time goes into calling PyTorch"
        )
    torch.set_num_threads(wanted.threads)
    machine.keep_memory()
    pin(wanted.threads)
    rows: list[Row] = []
    count = _measurements(tasks, selection, wanted)
    time = _long(SECONDS * count)
    terminal.say(f"at most {count} measurements: about {time}, or less")
    with machine.Peaks() as found, terminal.progress(count) as step:
        ladder = Ladders(selection, wanted, found, step)
        for task in tasks:
            rows += ladder.rows(task)
        peaks = found.as_json()
    if not rows:
        raise GraderError(f"nothing to time: no rung of {wanted.label} is written yet")
    lines, left_out = ladder_table.fitted(side_by_side(rows), terminal.width())
    print("\n".join(lines))
    terminal.remarks([*left_out, *remarks(rows)])
    print(f"\n{machine_words(peaks, wanted)}")
    written = write(rows, peaks, wanted)
    terminal.say(f"written: {', '.join(results.near(path) for path in written)}")
    right = (Verdict.PASS, Verdict.NOISY)
    return int(any(row.speed.verdict not in right for row in rows))


def _measurements(tasks: list[Task], selection: Selection, wanted: Wanted) -> int:
    """How often the stopwatch will run at most."""
    count = 0
    for task in tasks:
        files = sum(rung.id in selection.rungs for rung in task.rungs)
        operator = operators.get(task.operator)
        for name in usual_cases(task, operator, wanted):
            parts = wanted.parts or parts_of(operator, operator.speed_cases()[name])
            count += files * len(
                [part for part in parts if part != BOTH or wanted.parts]
            )
    return count


def _long(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} minutes"


def usual_cases(task: Task, operator: Operator, wanted: Wanted) -> tuple[str, ...]:
    """The cases of a ladder that are timed: those asked for, if it has one of them."""
    cases = operator.speed_cases()
    usual = task.bench or tuple(operator.speed_cases(large=False))
    return tuple(name for name in wanted.cases if name in cases) or usual


def side_by_side(rows: list[Row]) -> list[Row]:
    """By ladder, part and case, so that the files of one case stand together."""
    places = {(r.rung.task, r.part, r.speed.case): i for i, r in enumerate(rows[::-1])}
    return sorted(rows, key=lambda r: -places[r.rung.task, r.part, r.speed.case])


def remarks(rows: list[Row]) -> Iterator[str]:
    """What was not timed and why, and what NOISY is."""
    for row in rows:
        if row.speed.ratio is None:
            what = f"{row.rung.id}, {row.part} of {row.speed.case}"
            why = f": {row.speed.message}" if row.speed.message else ""
            yield f"not timed: {what}: {row.speed.verdict}{why}"
    if any(row.speed.verdict is Verdict.NOISY for row in rows):
        yield (
            "NOISY: after three attempts the ratio is still uncertain by more than 5 "
            "%. Usually another program is running: close it and run the command again"
        )


LOWER_FILES = "lower files"  # they compute what a rung leaves


class Ladders:
    """Times rungs on what each of them covers."""

    def __init__(
        self, selection: Selection, wanted: Wanted, peaks: machine.Peaks, step: Any
    ) -> None:
        self.selection, self.wanted = selection, wanted
        self.peaks, self.step = peaks, step
        self.builds = Builds(judge=Trial(wanted.seed))
        self.done = 0

    def rows(self, task: Task) -> Iterator[Row]:
        """All rungs of a ladder."""
        operator = operators.get(task.operator)
        cases = operator.speed_cases()
        names = usual_cases(task, operator, self.wanted)
        for rung in task.rungs:
            if rung.id not in self.selection.rungs:
                continue
            built = self.builds.whole(rung)
            if not built.libraries:
                continue
            # parts that a person names are timed from the rung down
            walk = OWN_FILES if self.wanted.parts else ""
            subject = to_time(rung, self.builds.links, walk=walk)
            if subject is None:
                continue
            with closing(subject):
                for name in names:
                    yield from self._case(subject, rung, built, cases[name])

    def _case(
        self, subject: Subject, rung: Rung, built: Build, case: Case
    ) -> Iterator[Row]:
        """The parts of a case that were asked for, or all that the rung defines."""
        from grader.engine.grading_step import GradingStep

        for part, (directions, asked) in parts_of(subject.operator, case).items():
            if self.wanted.parts and part not in self.wanted.parts:
                continue
            if part == BOTH and not self.wanted.parts:
                continue
            if not self.wanted.parts and not set(directions) <= set(built.directions):
                continue
            self.step(GradingStep(rung.id, f"speed, {case.name} {part}", self.done, 0))
            self.done += 1
            direction = directions[0] if len(directions) == 1 else BOTH
            found = speed.check(
                subject,
                asked,
                direction,
                None,
                self.wanted.seed,
                self.peaks,
                threads=self.wanted.threads,
                against=self.wanted.against if case.sizes.get("KH") else (),
            )
            if found.verdict is not Verdict.NOT_IMPLEMENTED:
                by = (rung.id, LOWER_FILES) if self.wanted.parts else (rung.id,)
                yield Row(rung, part, by, found)


def parts_of(operator: Operator, case: Case) -> dict[str, tuple[tuple[str, ...], Case]]:
    """What can be timed alone: name -> directions, and the case that asks for it.

    The gradient of a bias is a part of the weight's.
    """
    parts: dict[str, tuple[tuple[str, ...], Case]] = {
        "forward": (("forward",), case),
        "backward": (("backward",), case),
        BOTH: (DIRECTIONS, case),
    }
    names = [
        n for n, w in zip(operator.signature.gradients, operator.wanted(case)) if w
    ]
    for name in [n for n in names if n != "bias"] if len(names) > 1 else []:
        more = ("bias",) if name == "weight" and "bias" in names else ()
        asked = replace(case, wanted=(name, *more))
        parts[f"grad_{name}"] = (("backward",), asked)
    return parts


def write(rows: list[Row], peaks: dict[str, Any], wanted: Wanted) -> tuple[Path, ...]:
    """JSON, and a page beside what is built. Returns their paths."""
    results.make_folder(folder())
    stem = "bench_" + re.sub(r"[^a-z0-9_]+", "_", wanted.label)
    entries = [recorded(row, wanted.threads) for row in rows]
    environment = {**results.environment(), "machine": peaks}
    whole = {"command": command(wanted), "environment": environment, "rows": entries}
    file = folder() / f"{stem}.json"
    try:
        file.write_text(json.dumps(whole, indent=1) + "\n")
    except OSError as error:
        raise GraderError(results.explain(error, folder())) from error
    page = build_folder() / "bench" / f"{stem}.html"
    return file, bench_page.write(whole, machine_words(peaks, wanted), page)
