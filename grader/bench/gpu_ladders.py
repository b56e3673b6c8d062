# SPDX-License-Identifier: MIT
"""`make bench` of lab 04 counts on any machine, and measures times on a card.

Times are taken on the machine's GPU, against PyTorch on the same GPU (gpu_speed.py). If
there is no GPU, the command says so and writes only the counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

from signatures import DIRECTIONS

from grader import operators
from grader.bench import counting
from grader.bench.counting import Counted
from grader.bench.request import Growing, Row, Wanted, command, folder
from grader.checks.not_run import of_ours
from grader.checks.speed import gpu_speed
from grader.checks.speed.estimate import Speed
from grader.checks.subject import Subject
from grader.course.rungs import TF32, Rung, Selection, Task
from grader.engine import results
from grader.engine.checking import on_gpu
from grader.engine.checking.compiling import Builds
from grader.engine.checking.runnable import Trial, to_time
from grader.errors import GraderError
from grader.operators import Case
from grader.report import tables, terminal
from grader.toolchain import gpu_build, gpu_probe
from grader.toolchain.make import build_tools
from grader.toolchain.products import GPU
from grader.verdicts import Verdict

HEAD = (
    "rung",
    "direction",
    "case",
    "error (PyTorch's)",
    "ms",
    "TFLOP/s",
    "GB/s",
    "% of FMA peak",
    "x PyTorch",
    "95 % interval",
    "x tf32",
    "registers",
    "occupancy",
    "baseline",
)
NOT_TIMED = "times need a GPU, but {why}: the figures below are counts, not times"


def bench(selection: Selection, wanted: Wanted) -> int:
    """Count, and time where there is a card; print and write both.

    Returns 1 if a value was wrong when it was timed, else 0. Raises GraderError if
    nothing is written yet.
    """
    build_tools()
    tasks = [task for task in selection.tasks if task.language == "cuda"]
    if gpu_probe.card() is None:
        if not wanted.counts:
            raise GraderError(
                "with COUNTS=off nothing is left to measure, because times need a "
                f"GPU: {gpu_probe.absent()}"
            )
        terminal.say(NOT_TIMED.format(why=gpu_probe.absent()))
    written, counted, wrong = [], dict[tuple[str, str], Counted](), 0
    run = Bench(selection, wanted)
    if wanted.counts:
        counts = _counted(run, tasks)
        counted = {(row.rung, row.direction): row for row in counts}
        written.append(counting.write(counts, folder(), command(wanted)))
    if card := gpu_probe.measured():
        file = Growing(card, wanted)
        wrong = _timed(run, tasks, file, counted)
        terminal.say(
            f"{card.words}; FMA {2e-12 * card.fma:.1f} TFLOP/s, copy "
            f"{1e-9 * card.bandwidth:.0f} GB/s, both measured"
        )
        written.append(file.path)
    terminal.say(f"written: {', '.join(results.near(path) for path in written)}")
    return int(wrong > 0)


def _counted(run: Bench, tasks: list[Task]) -> list[Counted]:
    """What is counted, printed."""
    counts = [row for task in tasks for row in run.counts(task)]
    if not counts:
        label = run.wanted.label
        raise GraderError(f"nothing to count: no rung of {label} is written")
    lines = [tables.counted(asdict(row)) for row in counts]
    print("\n".join(["", *tables.markdown(tables.COUNTED, lines), ""]))
    return counts


def _timed(
    run: Bench,
    tasks: list[Task],
    file: Growing,
    counted: dict[tuple[str, str], Counted],
) -> int:
    """Time what is not in the file yet, each row printed and kept at once. Returns how
    many were wrong.
    """
    if file.before:
        terminal.say(f"{file.before} rows come from an earlier run that was stopped")
    print("\n".join(["", *tables.markdown(HEAD, [])]))
    wrong, fine = 0, (Verdict.PASS, Verdict.NOISY)
    for row in (row for task in tasks for row in run.times(task, file.has)):
        print(f"| {' | '.join(cells(row, counted))} |", flush=True)
        file.add(row)
        wrong += row.speed.verdict not in fine
    file.write()
    print()
    return wrong


class Bench:
    """The builds of a run."""

    def __init__(self, selection: Selection, wanted: Wanted) -> None:
        self.selection, self.wanted = selection, wanted
        self.links = Builds(judge=Trial(wanted.seed)).links
        self.on_card = on_gpu.OnCard(wanted.seed, lambda *_: None, self.links)

    def chosen(self, task: Task) -> list[Rung]:
        """The rungs of a ladder that were asked for."""
        return [rung for rung in task.rungs if rung.id in self.selection.rungs]

    def counts(self, task: Task) -> list[Counted]:
        """What cusim and nvcc can tell."""
        terminal.say(f"counting {task.id}")
        return counting.of_task(task, self.chosen(task), self.links, self.wanted.seed)

    def times(
        self, task: Task, has_time: Callable[[Rung, str, str], bool] = lambda *_: False
    ) -> Iterator[Row]:
        """Each rung's own directions on each case, on the card, but what `has_time`."""
        operator = operators.get(task.operator)
        cases = operator.speed_cases()
        usual = task.bench or tuple(cases)
        names = [n for n in self.wanted.cases if n in cases] or usual
        gpu_probe.build_tools()
        card = gpu_probe.measured()
        assert card
        for rung in [r for r in task.rungs if not gpu_build.lacking(r)]:
            built = self.links.build(rung, mode=GPU)
            if rung.id not in self.selection.rungs or not built.libraries:
                continue
            subject = to_time(rung, self.links, GPU, walk="")
            if subject is None:
                continue
            try:
                for name in names:
                    for direction in [d for d in DIRECTIONS if d in built.directions]:
                        if self.wanted.parts and direction not in self.wanted.parts:
                            continue
                        if has_time(rung, direction, name):
                            continue
                        found = self._speed(subject, cases[name], direction, card)
                        if found.verdict is not Verdict.NOT_IMPLEMENTED:
                            yield Row(rung, direction, (rung.id,), found)
            finally:
                subject.close()

    def _speed(
        self, subject: Subject, case: Case, direction: str, card: gpu_probe.Gpu
    ) -> Speed:
        """One measurement, as long as BUDGET= says. A fault of ours costs one row."""
        words = subject, case, direction, None, self.wanted.seed, card
        title = gpu_speed.title(subject.operator, direction)
        both = gpu_speed.library(subject.operator) != gpu_speed.CUDA
        limits: dict[str, Any] = {"with_tf32": both}
        if self.wanted.budget:
            limits |= {"budget": self.wanted.budget, "tries": 1}
        try:
            return gpu_speed.check(*words, self.on_card.clock(), **limits)
        except (GraderError, OSError):
            raise
        except Exception as error:
            no, text = Verdict.GRADER, of_ours(error)
            return Speed(case.name, direction, no, title, message=text)


def cells(row: Row, counted: dict[tuple[str, str], Counted]) -> list[str]:
    """One line of the table of times."""
    found = row.speed
    head = [f"`{row.rung.id}`", row.part, f"`{found.case}`"]
    if found.ms is None or found.ratio is None:
        return [*head, found.verdict.value, *[""] * 9, found.baseline]
    ratio = found.ratio
    noisy = " NOISY" if found.verdict is Verdict.NOISY else ""
    other = found.others.get(TF32)
    made = counted.get((row.rung.id, row.part))
    return [
        *head,
        f"{found.errors[0]:.0e} ({found.errors[1]:.0e})",
        f"{found.ms:.4g}",
        "-" if found.gflops is None else f"{1e-3 * found.gflops:.3g}",
        f"{found.gbs:.0f}",
        "-" if found.percent_of_peak is None else f"{found.percent_of_peak:.1f}",
        f"{ratio.value:.3g}",
        f"{ratio.low:.3g} .. {ratio.high:.3g}{noisy}",
        f"{other.value:.3g}" if other else "-",
        str(made.registers) if made and made.architecture else "-",
        f"{100 * made.occupancy:.0f} %" if made and made.architecture else "-",
        found.baseline,
    ]
