# SPDX-License-Identifier: MIT
"""`make grade` builds, checks and scores; it writes results.json and the report."""

from __future__ import annotations

import os
import time

from grader.commands import check_card
from grader.course import tasks
from grader.course.exhibits import CASE_CHECK
from grader.course.foreign import one_line
from grader.course.missing_rungs import absent
from grader.course.rungs import Selection
from grader.engine import grade as grading
from grader.engine import merge, plan, results, schedule
from grader.engine.answers.ledger import Ledger
from grader.engine.checking import untouched
from grader.engine.next_task import lab_of
from grader.engine.score import Results, TaskResult, exit_status
from grader.errors import GraderError
from grader.options import FRESH, JOBS, LAB, SEED, Arguments, Option, T, switch, text
from grader.report import html, terminal, time_spent
from grader.report.progress.next_step import next_step
from grader.runner.supervisor import orphans
from grader.toolchain import sandbox
from grader.toolchain.make import build_tools

# what CHECK= may be -> the check's name
CHECKS = {
    "forward": "forward",
    "backward": "gradient",
    "gradient": "gradient",
    "card": plan.CARD,
}
CHECK = Option("CHECK", "forward, backward or card", text)
TIMES = Option("TIMES", "1 shows the time of each check", switch)
STRICT = Option("STRICT", "0 ends with status 0 if a table was printed", text)
OPTIONS = (T, LAB, CHECK, SEED, FRESH, JOBS, TIMES, STRICT)


def run(arguments: Arguments) -> int:
    """Grade. With STRICT=0, as `make grade` says, a table that was printed is success,
    whatever it holds.
    """
    status = graded(arguments)
    return 0 if arguments[STRICT] == "0" else status


def graded(arguments: Arguments) -> int:
    """All that was selected; 0 if everything passed or is pending."""
    start = time.monotonic()
    selection = tasks.select(arguments[T], arguments[LAB])
    check = checked(arguments[CHECK], selection)
    repeated = arguments[SEED]
    seed = grading.new_seed() if repeated is None else repeated
    sandbox.level()  # a level that does not work ends here
    slots = arguments[JOBS] or schedule.slots()
    if check == plan.CARD:
        return check_card.run(selection, seed, slots)
    fresh = repeated is not None or arguments[FRESH]
    with results.lock():
        orphans.end()
        build_tools()
        with (
            Ledger(results.folder()) as ledger,
            terminal.progress(len(selection.rungs)) as step,
            grading.Grader(
                selection,
                seed=seed,
                check=check,
                progress=step,
                slots=slots,
                ledger=ledger,
                fresh=fresh or _in_ci(),
            ) as grader,
        ):
            found = grader.run()
            peaks = grader.race.as_json()
            unwatched = grader.without_sanitizers()
            whole = merge.merged(found, seed, peaks, ledger)
        if ledger.renamed:
            terminal.complain(ledger.renamed)
        if sentence := results.set_aside():
            terminal.complain(sentence)
        results.write(whole)
        page = _page(whole)
    standing = {task.task.id: (task.points, task.pending) for task in whole.tasks}
    terminal.table(found, standing)
    if selection.whole:
        terminal.course(whole)
    _advise(found, whole)
    if arguments[TIMES]:
        time_spent.table(found)
    remarks = [*tasks.strange(selection.tasks), *untouched.waiting(found), *absent()]
    remarks += [f"memory was not checked: {unwatched}"] if unwatched else []
    if grader.reused:
        remarks.append(terminal.reused(grader.reused, grader.total))
    if peaks:
        from grader.checks.speed import machine  # it was imported for the times

        remarks += filter(None, [machine.shaken(peaks)])
    terminal.remarks(remarks)
    terminal.summary(
        found, standing, seed=seed, seconds=time.monotonic() - start, where=page
    )
    return exit_status(found)


def _advise(found: list[TaskResult], whole: Results) -> None:
    """What is wrong, and what is next."""
    offered = tasks.offered_tasks()
    following = next_step(whole, offered, {lab_of(result.task) for result in found})
    if not terminal.advice(found) and following.file:
        terminal.remarks(following.lines)


def checked(word: str, selection: Selection) -> str | None:
    """The check that CHECK= names. Raises GraderError for a word that names none."""
    if not word or word in CHECKS:
        return CHECKS.get(word)
    wrong = f"CHECK={one_line(word)}: expected forward, backward (gradient is the "
    wrong += "same) or card"
    hunts = [task for task in selection.tasks if task.is_hunt]
    if word == CASE_CHECK and hunts:
        one = next((r.id for r in hunts[0].rungs if r.id in selection.rungs), "")
        wrong += (
            ", the directions of the repair; the case of a bug hunt is checked after "
            f"its repair: make grade T={one or hunts[0].id}"
        )
    raise GraderError(wrong)


def _in_ci() -> bool:
    """Whether nothing may be taken from an earlier run."""
    return os.environ.get("CI", "").lower() in ("1", "true")


def _page(whole: Results) -> str:
    """Write the HTML report; the name of the file that tells most, as people see it.

    Where the page cannot be made (an environment of one's own without jinja2) the grade
    stands without it.
    """
    try:
        return results.near(html.write(whole))
    except GraderError as error:
        terminal.complain(str(error))
        return results.near(results.path())
