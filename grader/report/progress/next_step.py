# SPDX-License-Identifier: MIT
"""Chooses the next step and its reason: first fix, then write, then speed up."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from grader.course.exhibits import PARTS
from grader.course.rungs import Task
from grader.engine import merge
from grader.engine.next_task import in_turn
from grader.engine.score import Results, RungResult, TaskResult, shown_points
from grader.toolchain import given
from grader.verdicts import Verdict

UNWRITTEN = (None, Verdict.NOT_IMPLEMENTED)
WORTH_IT = 0.05  # points for speed; less is not worth a sentence


@dataclass(frozen=True)
class NextStep:
    """A file, what to do with it, and the reason."""

    file: str  # as people see it; "" if nothing is left
    task: str
    reason: str

    @property
    def command(self) -> str:
        """What to run while working on it."""
        return f"make watch T={self.task}" if self.task else ""

    @property
    def lines(self) -> list[str]:
        """What people are told."""
        doing = f"Next: {self.file}" if self.file else "Nothing is left"
        command = [f"  {self.command}"] if self.command else []
        return [f"{doing}: {self.reason}.", *command]


def next_step(
    whole: Results | None, tasks: Sequence[Task], labs: Collection[str] = ()
) -> NextStep:
    """Begun and wrong comes first, then the core path, then what lies beyond it. The
    tasks of `labs`, which were just graded, come first of each.
    """
    graded = {result.task.id: result for result in whole.tasks} if whole else {}
    now = merge.standing(whole)
    found = {result.task.id: result for result in now.tasks} if now else {}
    earned = {name: result.points for name, result in found.items()}
    in_order = in_turn(tasks, earned, labs)
    for steps, results in ((_wrong, graded), (_unwritten, found), (_slow, found)):
        for task in in_order:
            step = next(steps(task, results.get(task.id)), None)
            if step:
                return step
    return NextStep("", "", "every task is right and fast enough")


def _wrong(task: Task, result: TaskResult | None) -> Iterator[NextStep]:
    files = {rung.id: rung for rung in task.rungs}
    for rung in result.rungs if result else ():
        now = files.get(rung.rung.id)
        if now is None or (now.exhibit and given.is_untouched(now)):
            continue  # gone, or wrong as it was handed out
        for direction in PARTS if now.exhibit else task.directions:
            verdict = rung.verdict(direction)
            if verdict in UNWRITTEN or (verdict and (verdict.ok or verdict.pending)):
                continue
            if result and not now.exhibit and result.best(direction) is Verdict.PASS:
                continue  # another file has earned the points
            reason = f"you have begun it: {direction} is {verdict}"
            if now.sha256 != rung.rung.sha256:
                reason = (
                    f"it has changed since {direction} was {verdict}: grade it again"
                )
            yield NextStep(rung.rung.shown, now.id if now.exhibit else task.id, reason)


def _unwritten(task: Task, result: TaskResult | None) -> Iterator[NextStep]:
    if task.is_hunt:
        yield from _hidden(task, result)
        return
    asked = task.directions
    open_ones = [d for d in asked if not result or result.best(d) in UNWRITTEN]
    if not open_ones or not task.rungs:
        return
    by_id = {r.rung.id: r for r in result.rungs} if result else {}
    files = [r for r in task.rungs if not _is_written(by_id.get(r.id), open_ones)]
    path = "of the core path" if task.core else "beyond the core path"
    both = "" if len(open_ones) == len(asked) else f", {open_ones[0]} in it"
    worth = "1 point" if task.points == 1 else f"{shown_points(task.points)} points"
    yield NextStep(
        (files or task.rungs)[0].shown,
        task.id,
        f"the next task {path}{both}, {worth}",
    )


def _hidden(task: Task, result: TaskResult | None) -> Iterator[NextStep]:
    """Exhibits whose bug is not repaired, or not exposed."""
    found = {one.rung.id: one for one in result.rungs} if result else {}
    for rung in task.rungs:
        rung_result = replace(found.get(rung.id, RungResult(rung, ())), rung=rung)
        worth = task.worth(rung)
        left = worth - sum(map(sum, rung_result.halves(worth)))
        if left:
            reason = (
                f"a bug to find, worth {shown_points(left)} points beyond the core path"
            )
            yield NextStep(rung.shown, rung.id, reason)


def _is_written(result: RungResult | None, directions: Sequence[str]) -> bool:
    """Whether nothing is left to write in a file of these directions."""
    if result is None:
        return False
    asked = [result.verdict(d) for d in directions]
    return Verdict.NOT_IMPLEMENTED not in asked


def _slow(task: Task, result: TaskResult | None) -> Iterator[NextStep]:
    for direction in task.directions:
        speed = result.speed(direction) if result else None
        if not (result and speed and speed.band and speed.ratio):
            continue
        left = (1 - speed.earned) * speed.band.worth
        if left < WORTH_IT:
            continue
        ratio = f"{speed.ratio.value:.2g}"
        yield NextStep(
            f"labs/{task.id}",
            task.id,
            f"{direction} is right and {ratio} times as fast as PyTorch: "
            f"{shown_points(left)} points for speed are left",
        )
