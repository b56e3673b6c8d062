# SPDX-License-Identifier: MIT
"""Prints a grading in the terminal: progress, one table, and what to do next."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress
from rich.table import Column, Table
from rich.text import Text
from signatures import DIRECTIONS

from grader import working
from grader.checks.check_result import CheckResult
from grader.checks.gates import matrix
from grader.course.exhibits import PARTS
from grader.course.foreign import cleaned
from grader.engine import coverage, next_task
from grader.engine.grading_step import GradingStep
from grader.engine.score import Results, RungResult, TaskResult, shown_points
from grader.report import not_checked
from grader.report.check_words import check_words, replaced_by
from grader.report.failure import heat, own_output
from grader.report.progress import to_write
from grader.toolchain import given, sandbox
from grader.verdicts import Verdict

PIPE = 200  # columns of what is no terminal: no file is too narrow for a table


def _console() -> Console:
    """As wide as the terminal, or as COLUMNS says; a pipe or a file has no width."""
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPE
    return Console(highlight=False, soft_wrap=False, width=width)


console = _console()


def width() -> int | None:
    """Columns of the terminal; None of a pipe or a file, unless COLUMNS says some."""
    has_width = console.is_terminal or "COLUMNS" in os.environ
    return console.width if has_width else None


errors = Console(stderr=True, highlight=False)

Standing = dict[str, tuple[float, float]]  # task -> points and pending, as they are now

MISTAKES = "docs/guides/mistakes.md"
NEXT_STEPS = 3  # failures that are told in full
FEW_USES = 8  # so many are listed under the table


def complain(sentence: str) -> None:
    """The one sentence that ends a command."""
    text = escape(cleaned(sentence))
    errors.print(f"[bold red]convlab:[/] {text}", soft_wrap=True)


def say(sentence: str) -> None:
    """One plain line."""
    console.print(escape(cleaned(sentence)), soft_wrap=True)


def remarks(sentences: Sequence[str]) -> None:
    """What holds of the run as a whole, apart from what is said of a file above it."""
    if sentences:
        console.print()
    for sentence in sentences:
        say(sentence)


@contextmanager
def progress(total: int) -> Iterator[Callable[[GradingStep], None]]:
    """A bar that tells what is running; gone when it ends. Yields the callback.

    Into a file or a pipe goes a line for each task that ends instead.
    """
    if not console.is_terminal:
        yield _line
        return
    bar = Progress(
        working.Column(),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        console=console,
        transient=True,
    )
    with working.paused(), bar:
        line = bar.add_task("read the files", total=total)

        def step(now: GradingStep) -> None:
            if now.ended is None:
                text = f"{now.rung}  {now.check}"
                count, of = now.checks or now.done, now.all_checks or total
                bar.update(line, completed=count, total=of, description=text)

        yield step


def _line(now: GradingStep) -> None:
    """A task in the words of the table, unless there is no other, and later each file
    that is timed. Every line is there at once: rich flushes what it has printed.
    """
    if now.ended and 0 < len(now.ended.rungs) < now.total:
        columns = _columns([now.ended])
        found = "; ".join(f"{d} {_verdicts(now.ended, d)}" for d in columns)
        say(f"{now.rung}: {found} ({now.done}/{now.total} files)")
    elif now.check.startswith("speed"):
        say(f"{now.rung}: {now.check}")


def reused(unchanged: int, total: int) -> str:
    """How much of a result was not asked anew."""
    files = f"{unchanged} of {total} files have"
    whose = "their results are"
    if unchanged == 1:
        files, whose = f"1 of {total} files has", "its results are"
    if total == 1:
        files = "the file has"
    return (
        f"{files} not changed since an earlier grading: {whose} from then. "
        f"make grade FRESH=1 checks {'it' if total == 1 else 'all files'} again"
    )


def _verdicts(result: TaskResult, direction: str) -> str:
    """PASS, or how many files have which verdict."""
    words = Counter(str(v) for r in result.rungs if (v := r.verdict(direction)))
    if len(words) < 2:
        return next(iter(words), "-")
    return ", ".join(f"{count} {word}" for word, count in words.items())


def _word(verdict: Verdict | None) -> Text:
    """The verdict in words; colour only repeats it."""
    if verdict is None:
        return Text("-", style="dim")
    if verdict is Verdict.PASS:
        return Text("PASS", style="green")
    style = "yellow" if verdict.pending else "bold red"
    return Text(str(verdict), style=style)


def table(results: list[TaskResult], standing: Standing) -> None:
    """One row a rung, under one row a task and its points now. Fits 80 columns."""
    pending = any(standing[result.task.id][1] for result in results)
    grid = grid_of(Column("task / rung", overflow="ellipsis"))  # verdicts stay whole
    columns = _columns(results)
    for name in columns:
        grid.add_column(name, no_wrap=True)
    for name in ("points", *(("pending",) if pending else ())):
        grid.add_column(name, justify="right", no_wrap=True)
    for result in results:
        points, left = standing[result.task.id]
        earned = f"{shown_points(points)} / {shown_points(result.task.points)}"
        waiting = shown_points(left) if left else ""
        mark = "" if result.task.core else " *"
        title = Text(f"{result.task.id}{mark}", style="bold")
        row = [title, *("" for _ in columns), earned, *((waiting,) if pending else ())]
        grid.add_row(*row)
        if not result.task.rungs:
            grid.add_row(Text("  no file yet", style="dim"), "-", "-")
        for rung in result.rungs:
            grid.add_row(f"  {rung.rung.file.name}", *_cells(rung, columns))
    console.print(grid)
    _uses(results)
    _gates(results)
    _legend(results)


def _columns(results: list[TaskResult]) -> tuple[str, ...]:
    """The directions, and in a bug hunt the case."""
    hunts = any(result.task.is_hunt for result in results)
    return PARTS if hunts else DIRECTIONS


def _uses(results: list[TaskResult]) -> None:
    """Who serves what a file uses; of many, only what stands in for a file."""
    lines: list[tuple[bool, str]] = []  # whether it stands in, what to say
    for rung in [rung for result in results for rung in result.rungs]:
        for alias, server in rung.uses.items():
            stands_in = server.startswith("given/")
            until = f", a given object, until {replaced_by(rung, alias)} is right"
            line = f"  in {rung.rung.id}, {alias} is {server}{until * stands_in}"
            lines.append((stands_in, line))
    few = len(lines) <= FEW_USES
    for stands_in, line in lines:
        if few or stands_in:
            say(line)
    own = sum(not stands_in for stands_in, _ in lines)
    if own and not few:
        say(f"  your files use other files of yours {own} times: the report names them")


def _gates(results: list[TaskResult]) -> None:
    """Lab 05: gate by operator, in few letters: five operators fit 80 columns."""
    rungs = [r for result in results for r in result.rungs if r.rung.in_package]
    for first in range(0, len(rungs), 5):
        _gates_of(rungs[first : first + 5])
    on_word = matrix.on_their_word(check for r in rungs for check in r.checks)
    for note in filter(None, (on_word, matrix.note() if rungs else "")):
        say(f"  {note}")


def _gates_of(rungs: list[RungResult]) -> None:
    columns = [matrix.of((c.name, str(c.verdict)) for c in r.checks) for r in rungs]
    if not any(columns):
        return
    grid = grid_of("gate", *(r.rung.operator for r in rungs))
    for gate, cells in matrix.rows(columns):
        grid.add_row(gate, *map(_short, cells))
    console.print()
    console.print(grid)


def course(whole: Results) -> None:
    """Every operator in every lab: one word where both directions say the same."""
    found = coverage.matrix(whole.tasks)
    grid = grid_of("operator", *(lab[:2] for lab in found.labs))
    for operator in found.operators:
        grid.add_row(operator, *(_pair(found.of(operator, lab)) for lab in found.labs))
    console.print()
    console.print(grid)
    say(f"  {found.right} of {len(found.cells)} are right: forward/backward, by lab")


def _pair(verdicts: list[Verdict | None]) -> Text:
    """Forward and backward of a task."""
    forward, backward = (_short(str(v) if v else "") for v in verdicts)
    return forward if forward == backward else Text("/").join([forward, backward])


def grid_of(*headers: str | Column) -> Table:
    """An empty table, as all commands print theirs."""
    gap = (0, 2, 0, 0)  # behind each column
    return Table(*headers, box=None, pad_edge=False, header_style="bold", padding=gap)


def _short(cell: str) -> Text:
    """A verdict as a gate's cell shows it; the word itself stands in the report."""
    word = _word(Verdict(cell) if cell else None)
    if cell == Verdict.NOT_IMPLEMENTED:
        return Text("todo", style=word.style)
    if cell and Verdict(cell).pending:
        return Text("pending", style=word.style)
    return word if cell in ("", Verdict.PASS) else Text("FAIL", style=word.style)


def _legend(results: list[TaskResult]) -> None:
    """What the table's marks mean, for those it has."""
    notes = []
    if any(not result.task.core for result in results):
        notes.append("* extra, beyond the core path")
    rungs = [rung for result in results for rung in result.rungs]
    if any(rung.covered(direction) for rung in rungs for direction in DIRECTIONS):
        notes.append("58 of 86: cases that a file covers")
    speeds = [speed for rung in rungs for speed in rung.speeds]
    if any(s.verdict is Verdict.PASS and s.ratio for s in speeds):
        notes.append("1.00x is PyTorch's speed in the same run")
    if notes:
        console.print(f"[dim]{'; '.join(notes)}[/]")


def _cells(rung: RungResult, columns: Sequence[str] = DIRECTIONS) -> list[Text]:
    cells = []
    for direction in columns:
        word = _word(rung.verdict(direction))
        if share := rung.covered(direction):
            word.append(f" {share.removesuffix(' cases')}", style="dim")
        word.append(_speed(rung, direction), style="default")
        cells.append(word)
    return cells


def _speed(rung: RungResult, direction: str) -> str:
    """How fast, as a multiple of PyTorch's speed; nothing if it was not timed."""
    speed = next((s for s in rung.speeds if s.direction == direction), None)
    if speed is None:
        return ""
    if speed.verdict is not Verdict.PASS:
        return f" {speed.verdict}"
    if speed.ratio is None:  # another file's work: told below the table
        return ""
    value = speed.ratio.value
    return f" {value:.2f}x" if value >= 0.1 else f" {value:.3f}x"


def _failures(results: list[TaskResult]) -> list[tuple[RungResult, CheckResult]]:
    """What to mend, tasks in order, the first failing check of each direction."""
    found = []
    for result in results:
        for rung in result.rungs:
            seen: set[str] = set()
            for check in rung.checks:
                bad = check.verdict is not Verdict.PASS
                if bad and check.message not in seen:
                    seen.add(check.message)
                    found.append((rung, check))
    return found


def advice(results: list[TaskResult]) -> bool:
    """The first few things that are wrong, with the command that shows each again, or
    what is to be written; whether it said what is next.
    """
    failures = _failures(results)
    hunts = all(result.task.is_hunt for result in results)
    started = [
        (rung, check) for rung, check in failures if hunts or _begun(rung, check)
    ]
    for rung, check in started[:NEXT_STEPS]:
        console.print()
        console.print(
            Text(f"{check.verdict}", style="bold red")
            + Text(f"  {rung.rung.id}, {check_words(check)}", style="bold")
        )
        console.print(Text(f"  {check.message}"), soft_wrap=True)
        if check.diagnosis or check.mistake:
            name = f"{check.mistake.replace('_', ' ')}? " if check.mistake else ""
            words = check.diagnosis or f"{MISTAKES} explains this mistake"
            why = Text(f"  {name}", style="bold") + Text(words)
            console.print(why, soft_wrap=True)
        for line in own_output.lines(check):
            say(f"  {line}")
        if check.heat:
            for row in heat.blocks(check.heat, console.width - 2):
                console.print(Text("  ") + row, soft_wrap=True)
        if check.location:
            console.print(Text(f"  at {check.location}"), soft_wrap=True)
        if check.replay and check.verdict is not Verdict.BUILD:
            console.print(Text(f"  {check.replay}"), soft_wrap=True)
    if len(started) > NEXT_STEPS:
        console.print(f"\n... and {len(started) - NEXT_STEPS} more like these.")
    printed_ids = {
        rung.rung.id for rung, check in started[:NEXT_STEPS] if check.printed
    }
    for name, said in own_output.others(results, printed_ids):
        remarks([name, *(f"  {line}" for line in said)])
    remarks(not_checked.lines(results))
    no = Verdict.NOT_IMPLEMENTED
    todo = [f for f in _failures(next_task.of_results(results)) if f[1].verdict is no]
    said_next = bool(todo and not started)
    if said_next:
        remarks(to_write.lines(results, *todo[0]))
    return said_next


def _begun(rung: RungResult, check: CheckResult) -> bool:
    """Whether a failing file has been worked on: exhibits are wrong as they come."""
    if rung.rung.exhibit and given.is_untouched(rung.rung):
        return False
    return check.verdict is not Verdict.NOT_IMPLEMENTED


def summary(
    results: list[TaskResult],
    standing: Standing,
    *,
    seed: int,
    seconds: float,
    where: str,
) -> None:
    """Totals, how the run can be repeated, and where the details are. A run of some
    files of a task says what it found and, apart from it, what the task has earned.
    """
    parts = [_total(results, standing, core=core) for core in (True, False)]
    if pending := sum(standing[result.task.id][1] for result in results):
        parts.append(f"{shown_points(pending)} pending")
    text = ", ".join(filter(None, parts)) or "nothing was graded"
    this_run = shown_points(sum(result.points for result in results))
    if this_run != shown_points(sum(standing[result.task.id][0] for result in results)):
        text = f"this run {this_run}; with earlier results {text}"
    console.print()
    console.print(text)
    console.print(
        f"[dim]seed {seed}, sandbox {sandbox.level()}, {seconds:.1f} s; "
        f"details in {escape(where)}[/]",
        soft_wrap=True,
    )


def _total(results: list[TaskResult], standing: Standing, *, core: bool) -> str:
    """What the tasks of one kind have earned; "" if there are none."""
    mine = [result.task for result in results if result.task.core is core]
    earned = shown_points(sum(standing[task.id][0] for task in mine))
    of = shown_points(sum(task.points for task in mine))
    if not mine:
        return ""
    return f"[bold]{earned} of {of} points[/]" if core else f"{earned} of {of} extra"
