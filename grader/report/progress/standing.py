# SPDX-License-Identifier: MIT
"""Prints `make progress`: the points of each lab, their history, and the next step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby, pairwise
from pathlib import Path

from markupsafe import Markup
from rich.table import Column, Table
from rich.text import Text
from signatures import DIRECTIONS

from grader.course.rungs import Task
from grader.engine import results
from grader.engine.answers.history import Moment
from grader.engine.score import Results, shown_points
from grader.report import charts, html, page, terminal
from grader.report.encoding import encodes
from grader.report.progress.next_step import NextStep

BAR = 24  # characters
STEPS, IN_ASCII = "▁▂▃▄▅▆▇█", "_.-=+*#@"
WIDTH = 60  # characters of the line of points
HIGH, ABOVE = 120, 10  # pixels of a chart down to zero, and above its top
LEFT, RIGHT = 0.07, 0.92  # where it begins and ends, as a share of the width
PAGE = "progress.html"

Series = Mapping[tuple[str, str], Sequence[tuple[str, float]]]  # task, direction


def show(
    whole: Results | None,
    tasks: Sequence[Task],
    history: Sequence[Moment],
    step: NextStep,
) -> None:
    """Points by lab, over time, speeds, and the next step."""
    terminal.console.print(_labs(whole, tasks))
    if len(history) > 1:
        first, last = history[0], history[-1]
        terminal.console.print()
        terminal.say(f"points from {_day(first.date)} to {_day(last.date)}")
        for name, values in _totals(history):
            terminal.say(f"  {_line(values)} {values[-1]:g} {name}")
    if rows := changes(speeds(history)):
        terminal.console.print()
        terminal.console.print(_table_of(rows))
    terminal.console.print()
    for line in step.lines:
        terminal.say(line)


def _totals(history: Sequence[Moment]) -> Iterator[tuple[str, list[float]]]:
    """The points of the core path over time, and extra points if there are any."""
    yield "of the core path", [moment.points for moment in history]
    if history[-1].extra:
        yield "extra", [moment.extra for moment in history]


def _labs(whole: Results | None, tasks: Sequence[Task]) -> Table:
    earned = {result.task.id: result for result in whole.tasks} if whole else {}
    names = ("lab", "", "points", "extra")
    grid = terminal.grid_of(*(Column(name, no_wrap=True) for name in names))
    for lab, group in groupby(tasks, key=lambda task: task.lab):
        mine = list(group)
        sums = []
        for core in (True, False):
            those = [task for task in mine if task.core is core]
            points = sum(earned[t.id].points for t in those if t.id in earned)
            sums.append((points, sum(task.points for task in those)))
        (points, of), (extra, extra_of) = sums
        full = round(BAR * points / of) if of else 0
        grid.add_row(
            lab,
            Text(f"[{'#' * full}{'.' * (BAR - full)}]"),
            f"{shown_points(points)} / {shown_points(of)}",
            f"{shown_points(extra)} / {shown_points(extra_of)}",
        )
    return grid


def speeds(history: Sequence[Moment]) -> Series:
    """The ratios of each task and direction, as they changed."""
    found: dict[tuple[str, str], list[tuple[str, float]]] = {}
    for moment in history:
        for direction, ratio in moment.ratios.items():
            ratios = found.setdefault((moment.task, direction), [])
            if not ratios or ratios[-1][1] != ratio:
                ratios.append((moment.date, ratio))
    return found


def changes(found: Series) -> list[tuple[str, str, float, float]]:
    """Task, direction, first and last ratio, of what was timed."""
    return [
        (task, direction, ratios[0][1], ratios[-1][1])
        for (task, direction), ratios in found.items()
    ]


def _table_of(rows: Sequence[tuple[str, str, float, float]]) -> Table:
    """First and last ratio of each task, in one line."""
    names = ("times PyTorch's speed", *DIRECTIONS)
    grid = terminal.grid_of(*(Column(name, no_wrap=True) for name in names))
    for task in dict.fromkeys(row[0] for row in rows):
        cells = {d: (a, b) for name, d, a, b in rows if name == task}
        grid.add_row(task, *(_change(cells.get(d)) for d in DIRECTIONS))
    return grid


def _change(pair: tuple[float, float] | None) -> str:
    if pair is None:
        return "-"
    first, last = (f"{value:.2g}" for value in pair)
    return last if first == last else f"{first} to {last}"


def _line(values: Sequence[float]) -> str:
    """The values as one line of blocks: the last of each part of the time."""
    steps = STEPS if encodes(STEPS) else IN_ASCII
    wide = min(WIDTH, len(values))
    picked = [values[(i + 1) * len(values) // wide - 1] for i in range(wide)]
    top = max(picked) or 1.0
    return "".join(
        steps[min(len(steps) - 1, int(v / top * len(steps)))] for v in picked
    )


def _day(date: str) -> str:
    return datetime.fromisoformat(date).strftime("%-d %b %Y, %H:%M")


# ---- the page ------------------------------------------------------------------------


def write(history: Sequence[Moment], step: NextStep) -> Path:
    """The same as pictures; where the page is. Raises GraderError."""
    dates = [_seconds(moment.date) for moment in history]
    drawn = [
        (f"points, {name}", _curve(name.replace(" ", "-"), [*zip(dates, values)], ""))
        for name, values in _totals(history)
    ]
    for (task, direction), ratios in speeds(history).items():
        dated = [(_seconds(date), ratio) for date, ratio in ratios]
        if len(dated) > 1:
            key = page.anchor(task, direction)
            name = f"{task}, {direction}: times PyTorch's speed"
            drawn.append((name, _curve(key, dated, "×")))
    text = html.document("progress.html", charts=drawn, step=step)
    return html.save(text, results.folder() / PAGE)


def _seconds(date: str) -> float:
    return datetime.fromisoformat(date).timestamp()


def _curve(key: str, ratios: Sequence[tuple[float, float]], unit: str) -> Markup:
    """Steps over time from zero up: a value holds until the next one."""
    begin, end = ratios[0][0], ratios[-1][0]
    span, top = (end - begin) or 1.0, max(value for _, value in ratios) or 1.0

    def at(time: float) -> float:
        return LEFT + (RIGHT - LEFT) * (time - begin) / span

    def down(value: float) -> float:
        return ABOVE + (HIGH - ABOVE) * (1 - value / top)

    shapes = []
    for value in (0.0, top):
        shapes.append(charts.line(LEFT, down(value), RIGHT, down(value), "grid"))
        words = f"{charts.number(value)}{unit}"
        end_of = {"anchor": "end", "class_": "axis"}
        shapes.append(charts.text(words, LEFT - 0.01, down(value) + 4, **end_of))
    for (time, value), (after, other) in pairwise(ratios):
        there = at(after)
        shapes.append(charts.line(at(time), down(value), there, down(value), "step"))
        shapes.append(charts.line(there, down(value), there, down(other), "step"))
    last = ratios[-1][1]
    words = f"{charts.number(last)}{unit}"
    shapes.append(charts.text(words, RIGHT + 0.01, down(last) + 4, class_="strong"))
    for time, anchor in ((begin, "start"), (end, "end")):
        day = datetime.fromtimestamp(time).astimezone().strftime("%-d %b, %H:%M")
        below = HIGH + 18
        shapes.append(charts.text(day, at(time), below, anchor=anchor, class_="axis"))
    said = f"from {charts.number(ratios[0][1])} to {charts.number(last)}{unit}"
    return charts.picture(key, key, said, height=HIGH + 24, shapes=shapes)
