# SPDX-License-Identifier: MIT
"""How far can the stopwatch be trusted? Three proofs, for `make stress`.

ratio      two C functions built to differ by 1.5, on a quiet and on a busy machine
fairness   PyTorch alone through our path, against torch.utils.benchmark
points     the reference's speed points, again and again
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch.utils import benchmark

from grader import operators
from grader.checks.check_result import CheckResult
from grader.checks.speed import baseline, machine, speed, timing
from grader.checks.speed.overhead import Overhead
from grader.checks.subject import Subject
from grader.course.rungs import Task
from grader.course.tasks import all_tasks
from grader.engine.race import Race
from grader.engine.score import RungResult, TaskResult
from grader.operators import Case
from grader.runner.supervisor.cores import pin
from grader.toolchain.linking import Links
from grader.toolchain.make import build_tools
from grader.verdicts import Verdict
from tests import ALL_RIGHT, put
from tests.conftest import GELU, libraries_of
from tests.grader.checks.speed.stopwatch_page import (
    BUSY,
    POINT_RUNS,
    QUIET,
    RUNS,
    Table,
    lines,
    page,
    points_row,
    ratio_row,
    unfair,
)
from tests.proofs import pages

REPEATS = {"reference": 400, "student": 600}
ROUNDS = 80  # of a call through our path
# Bound by arithmetic: what is measured is the stopwatch, not where the tensors lie.
WORK = """
#include <stdatomic.h>

/* Sixteen multiply-adds an element, again and again: `repeats` says how long. */
void work(float *restrict y, const float *restrict x, int64_t count, int repeats)
{
    for (int r = 0; r < repeats; r++) {
        for (int64_t i = 0; i < count; i++) {
            float v = x[i];
            for (int k = 0; k < 16; k++) v = v * 0.999f + 0.001f;
            y[i] = v;
        }
        atomic_signal_fence(memory_order_seq_cst);  /* y is written each time */
    }
}
"""
COUNT = 2048  # elements

# eight shapes, of every kind of work: operator, direction and sizes
IMAGE = {"N": 4, "IC": 64, "IH": 28, "IW": 28, "OC": 64, "KH": 3, "KW": 3}
POINTS = {"N": 4, "IC": 128, "IH": 14, "IW": 14, "OC": 128, "KH": 1, "KW": 1}
SQUARE = {"input": [256, 256]}
SHAPES: tuple[tuple[str, str, Case], ...] = (
    ("add", "forward", Case("1M", shapes={"input": [1 << 20], "other": [1 << 20]})),
    ("matmul", "forward", Case("256", shapes={**SQUARE, "other": [256, 256]})),
    ("linear", "backward", Case("256", {"IC": 256, "OC": 256}, shapes=SQUARE)),
    ("conv2d", "forward", Case("3x3", IMAGE, {"padding": 1})),
    ("conv2d", "backward", Case("3x3", IMAGE, {"padding": 1})),
    ("conv2d", "forward", Case("1x1", POINTS)),
    ("gelu", "forward", Case("1M", shapes={"input": [1 << 20]})),
    ("layer_norm", "forward", Case("rows", {"D": 768}, shapes={"input": [512, 768]})),
)


class InProcess:
    """The reference's side of the ratio proof: a C function called from Python, as
    PyTorch's are.
    """

    def __init__(self, library: Path, x: torch.Tensor, repeats: int) -> None:
        room = torch.zeros(8 * COUNT)
        first = -room.data_ptr() % 4096 // 4
        apart = 2 * COUNT + 13 * 16  # as far as in a worker: no false dependences
        self.x = room[first : first + COUNT].copy_(x)
        self.y = room[first + apart : first + apart + COUNT]
        self.function = ctypes.CDLL(str(library)).work
        pointers = (ctypes.c_void_p(t.data_ptr()) for t in (self.y, self.x))
        self.arguments = (*pointers, ctypes.c_int64(x.numel()), repeats)
        self.watch = timing.Stopwatch()

    def prepare(self) -> None:
        """Inputs and output lately written, as on the other side."""
        self.x.add_(0)
        self.y.fill_(0)

    def sample(self) -> timing.Sample:
        """One call."""
        return self.watch.time(lambda: self.function(*self.arguments))


def ratios(folder: Path) -> list[float | None]:
    """The measured ratio of each run, None where it was NOISY."""
    body = f"work((float *)y, (const float *)x, COUNT, {REPEATS['student']});"
    file = put(folder / "00_work.c", GELU.format(body=body, before=WORK))
    libraries = libraries_of(file, folder)
    subject = Subject(
        operators.get("gelu"), libraries={k: (v, v) for k, v in libraries.items()}
    )
    case = Case("work", shapes={"input": [COUNT]})
    overhead = Overhead()
    found: list[float | None] = []
    try:
        for run in range(RUNS):
            data = baseline.Data(subject.operator, case, 1, run)
            x = data.inputs["input"][0]
            sides: dict[str, timing.Side] = {
                "reference": InProcess(libraries["f32"], x, REPEATS["reference"]),
                "student": speed.Student(subject, case, "forward", data, 1, overhead),
            }
            rounds, estimate = timing.settle(
                sides,
                ("student", "reference"),
                seed=run,
                budget=speed.BUDGET,
                tries=speed.TRIES,
            )
            ratio = rounds.ratio("student", "reference").value
            found.append(ratio if estimate else None)
    finally:
        overhead.close()
        subject.close()
    return found


def _spin() -> None:
    while True:
        pass


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """Endless loops on the first cores, one each, while the block runs."""
    cores = sorted(os.sched_getaffinity(0))
    started = []
    for i in range(loops):
        process = multiprocessing.get_context("fork").Process(target=_spin, daemon=True)
        process.start()
        assert process.pid
        os.sched_setaffinity(process.pid, {cores[i % len(cores)]})
        started.append(process)
    time.sleep(0.2)
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.join()


def ratio_table() -> Table:
    """The first proof."""
    cores = os.sched_getaffinity(0)
    made = Table([], [])
    for where in (QUIET, BUSY):
        with tempfile.TemporaryDirectory() as folder, busy(where.loops):
            pin()
            row = ratio_row(where, ratios(Path(folder)))
        os.sched_setaffinity(0, cores)
        made = Table(made.rows + row.rows, made.wrong + row.wrong)
    return made


def left_in_place(side: baseline.PyTorch) -> Callable[[], object]:
    """One call that can be repeated, on the same tensors every time."""
    inputs, grads = side._mine[0]
    read = side.operator.read_from_data(inputs)
    if not side.backward:
        return side._one(inputs, grads, read)
    leaves = [inputs[name] for name in side.wanted]
    outputs = side._forward(inputs, read)
    return lambda: torch.autograd.grad(outputs, leaves, grads, retain_graph=True)


def by_benchmark(work: Callable[[], object]) -> float:
    """Seconds of a call by torch.utils.benchmark."""
    timer = benchmark.Timer("work()", globals={"work": work}, num_threads=1)
    return float(timer.blocked_autorange(min_run_time=0.3).median)


def through_our_path(
    side: baseline.PyTorch, work: Callable[[], object] | None
) -> float:
    """The same through our path, nothing beside it; without `work` with fresh inputs,
    as in a grading.
    """
    times = []
    for _ in range(ROUNDS):
        if work is None:
            side.data.renew()
            side.prepare()
        else:
            side.results, side._work = [], [work]
        times.append(side.sample().seconds)
    return statistics.median(times)


def interleaved(side: baseline.PyTorch) -> float:
    """Its time in a comparison, here with a rate of the machine."""
    sides: dict[str, timing.Side] = {"pytorch": side, "fma": machine.Rate("fma")}
    rounds, _ = timing.settle(sides, ("pytorch", "fma"), seed=1, budget=1.0, tries=1)
    return rounds.median("pytorch")


def fairness_table() -> Table:
    """The second proof."""
    rows: list[list[str]] = []
    wrong: list[str] = []
    for name, direction, case in SHAPES:
        operator = operators.get(name)
        data = baseline.Data(operator, case, 1, 1)
        side = baseline.PyTorch(operator, case, direction, data, 1)
        with torch.set_grad_enabled(direction == "backward"):
            side.prepare()
            work = left_in_place(side)
            pairs = [
                (by_benchmark(work), through_our_path(side, work)) for _ in range(5)
            ]
        theirs, ours = (min(column) for column in zip(*pairs))
        fresh, between = through_our_path(side, None), interleaved(side)
        times = (1e3 * theirs, 1e3 * ours, ours / theirs, 1e3 * fresh, 1e3 * between)
        rows.append([name, direction, case.name, *(f"{time:.3f}" for time in times)])
        wrong += unfair(f"{name} {direction} {case.name}", ours / theirs)
    return Table(rows, wrong)


def raced(race: Race, task: Task) -> TaskResult:
    """A ladder of the reference through the race, taken to be right."""
    results = []
    for rung in task.rungs:
        built = race.links.build(rung)
        right = [CheckResult("forward", d, Verdict.PASS) for d in built.directions]
        results.append(RungResult(rung, tuple(right)))
    return TaskResult(task, tuple(race.task(task, results)))


def points_table() -> Table:
    """The third proof: speed points of every reference ladder in so many runs."""
    timed = [task for task in all_tasks() if task.speed]
    earned: dict[str, list[float]] = {task.id: [] for task in timed}
    noisy = dict.fromkeys(earned, 0)
    for run in range(POINT_RUNS):
        race = Race(run, lambda rung, check: None, Links(judge=ALL_RIGHT))
        for task in timed:
            assert task.speed
            done = raced(race, task)
            found = {d: done.speed(d) for d in task.speed.bands}
            passed = [s for s in found.values() if s and s.verdict is Verdict.PASS]
            noisy[task.id] += len(found) - len(passed)
            if len(passed) == len(found):
                parts = [task.speed.points_of(s.direction) * s.earned for s in passed]
                earned[task.id].append(sum(parts))
        race.close()
    tables = [points_row(task, earned[task.id], noisy[task.id]) for task in timed]
    wrong = [text for one in tables for text in one.wrong]
    return Table([row for one in tables for row in one.rows], wrong)


def main(arguments: list[str]) -> int:
    """Print the three tables; with --write, keep them in docs/results. 1 if a number is
    not as wanted.
    """
    build_tools()
    torch.set_num_threads(1)
    machine.keep_memory()
    proofs = {"ratio": ratio_table, "fairness": fairness_table, "points": points_table}
    tables: dict[str, Table] = {}
    for name, proof in proofs.items():
        tables[name] = proof()
        print(*lines(name, tables[name]), sep="\n", flush=True)
        pin()
    if "--write" in arguments:
        pages.write("stopwatch.md", page(tables).rstrip())
    wrong = [text for table in tables.values() for text in table.wrong]
    for text in wrong:
        print(f"not as wanted: {text}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
