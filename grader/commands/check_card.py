# SPDX-License-Identifier: MIT
"""`make grade CHECK=card` runs only the checks of lab 04 that need a GPU.

cusim and nvcc's counts are left out, so a borrowed card is used only for the card. It
gives no points and checks everything each time. Each failure is a line as soon as its
ladder ends, and card.json holds the results so far.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from grader.course.rungs import Selection
from grader.engine import grade as grading
from grader.engine import plan, results
from grader.engine.grading_step import GradingStep
from grader.engine.score import Results, TaskResult, exit_status
from grader.errors import GraderError
from grader.report import terminal
from grader.report.check_words import check_words
from grader.runner.supervisor import orphans
from grader.toolchain import gpu_probe
from grader.toolchain.make import build_tools
from grader.verdicts import Verdict

FILE = "card.json"


def run(selection: Selection, seed: int, slots: int) -> int:
    """Ask the card; 0 if everything passed or is pending."""
    start, only = time.monotonic(), kernels(selection)
    with results.lock():
        orphans.end()
        build_tools()
        with terminal.progress(len(only.rungs)) as step:
            kept = keeping(step, seed)
            with grading.Grader(
                only, seed=seed, check=plan.CARD, progress=kept, slots=slots
            ) as grader:
                found = grader.run()
    terminal.table(found, {result.task.id: (0.0, 0.0) for result in found})
    where, seconds = results.near(results.folder() / FILE), time.monotonic() - start
    ran = f"seed {seed}, {seconds:.1f} s; {where}"
    terminal.remarks([f"no points: only the check on the GPU ran; {ran}"])
    return exit_status(found)


def kernels(selection: Selection) -> Selection:
    """The ladders of kernels among what was selected. Raises GraderError where there
    are none, or no card.
    """
    if gpu_probe.card() is None:
        raise GraderError(f"CHECK=card needs a GPU, but {gpu_probe.absent()}")
    tasks = tuple(t for t in selection.tasks if t.language == "cuda" and not t.is_hunt)
    mine = {rung.id for task in tasks for rung in task.rungs}
    if not tasks:
        raise GraderError(
            "CHECK=card checks only kernels of lab 04: name some, for example "
            "make grade CHECK=card T=04_cuda_kernels/add"
        )
    return replace(selection, tasks=tasks, rungs=selection.rungs & mine)


def keeping(
    step: Callable[[GradingStep], None], seed: int
) -> Callable[[GradingStep], None]:
    """Progress that also prints what fails and keeps what is known so far."""
    ended: list[TaskResult] = []

    def on_results(now: GradingStep) -> None:
        step(now)
        if now.ended is None:
            return
        for line in failing(now.ended):
            terminal.say(line)
        ended.append(now.ended)
        date = datetime.now().astimezone().isoformat(timespec="seconds")
        whole = Results(tuple(ended), seed, date, results.environment())
        results.write(whole, FILE)

    return on_results


def failing(result: TaskResult) -> list[str]:
    """A line for each check that did not pass."""
    return [
        f"  {found.rung.id}: {check_words(check)}: {check.verdict}: {check.message}"
        for found in result.rungs
        for check in found.checks
        if check.verdict not in (Verdict.PASS, Verdict.NOT_IMPLEMENTED)
    ]
