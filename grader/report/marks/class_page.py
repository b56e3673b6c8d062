# SPDX-License-Identifier: MIT
"""Makes the report about a class: a page and a table for the instructor.

The board is another page, for all students. It has no name of a student.
"""

from __future__ import annotations

import csv
import heapq
import io
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from grader.checks.speed.estimate import Speed
from grader.course.offered.course_file import Course
from grader.course.rungs import ROOT
from grader.engine.answers import as_json
from grader.engine.marks import class_numbers
from grader.engine.marks.class_numbers import BINS, TENTHS, TaskNumbers
from grader.engine.marks.desk import Record
from grader.engine.marks.total import Total
from grader.engine.score import Results, TaskResult, shown_points
from grader.report import charts, html, page
from grader.report.exports.gradebook import harmless

FIRST = 10  # students on the board of a task

Boards = list[tuple[str, str, Any]]  # task, what is compared, chart


def render(
    totals: Sequence[Total],
    records: Mapping[str, Record],
    made: Course,
    boards: Boards,
) -> str:
    """The page for the instructor."""
    tasks = class_numbers.tasks(totals)
    return html.document(
        "class.html",
        made=made,
        totals=totals,
        points=shown_points,
        middle=statistics.median(one.points for one in totals),
        mean=statistics.fmean(one.points for one in totals),
        distribution=_histogram(
            "marks", "Students by mark", TENTHS, class_numbers.tenths(totals, made.of)
        ),
        tasks=sorted(tasks, key=lambda one: one.mean),
        histograms=[(one, _of_task(one)) for one in tasks],
        mistakes=class_numbers.mistakes(records),
        needs=class_numbers.needs(records),
        refused=[one for one in totals if one.refused],
        regrades=[(one, r) for one in totals for r in one.person.regrades],
        outcome=page.outcome,
        boards=boards,
    )


def table(totals: Sequence[Total]) -> str:
    """The numbers of each task as CSV."""
    made = io.StringIO()
    write = csv.writer(made, lineterminator="\r\n").writerow
    write(
        [
            *("part", "task", "of", "students", "mean", "median", "deviation"),
            *("full", "missing", "pending", "correlation", *BINS),
        ]
    )
    for one in class_numbers.tasks(totals):
        r = one.correlation
        numbers = (
            *(one.of, len(one.points), statistics.fmean(one.points)),
            *(statistics.median(one.points), statistics.pstdev(one.points)),
        )
        counts = one.full, one.missing, one.pending, "" if r is None else f"{r:.2f}"
        shown = (f"{round(number, 3):g}" for number in numbers)
        write([harmless(one.part), harmless(one.name), *shown, *counts, *one.bins])
    return made.getvalue()


# ---- charts --------------------------------------------------------------------------


def _of_task(one: TaskNumbers) -> Any:
    return _histogram(page.anchor(one.part, one.name), one.name, BINS, one.bins)


def _histogram(
    key: str, title: str, labels: Sequence[str], counts: Sequence[int]
) -> Any:
    most = max(counts)
    bars = [
        charts.Bar(label, count, str(count), best=count == most > 0)
        for label, count in zip(labels, counts, strict=True)
    ]
    return charts.ladder(key, title, bars, mark=None, mark_name="")


# ---- the board -----------------------------------------------------------------------


def board(made: Course, boards: Boards) -> str:
    """The page for all students."""
    return html.document("board.html", made=made, boards=boards)


def boards(records: Mapping[str, Record], pseudonyms: Mapping[str, str]) -> Boards:
    """For each task the students whose files are the fastest; without any time those
    with most right files.
    """
    speeds: dict[tuple[str, str], list[tuple[str, Speed]]] = defaultdict(list)
    right: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for student, record in records.items():
        found = as_json.results(dict(record.results))
        name = pseudonyms[student]
        for task, best in html.fastest(page.Page(found, ROOT)):
            for direction, (_, speed) in best.items():
                if html.ratio(speed) > 0:
                    speeds[task.task.id, direction].append((name, speed))
        for task, count in _right_files(found):
            right[task.task.id].append((name, count))
    made: Boards = [
        (task, f"{direction}, times as fast as the baseline", _race(task, direction, s))
        for (task, direction), s in sorted(speeds.items())
    ]
    timed = {task for task, _ in speeds}
    return made + [
        (task, "right files", _counted(task, counts))
        for task, counts in sorted(right.items())
        if task not in timed and max(count for _, count in counts) > 1
    ]


def _right_files(found: Results) -> list[tuple[TaskResult, int]]:
    """How many files of each task pass all their checks."""
    return [
        (task, sum(bool(r.checks) and not page.bad(r) for r in task.rungs))
        for task in found.tasks
    ]


def _race(task: str, direction: str, found: list[tuple[str, Speed]]) -> Any:
    first = heapq.nlargest(FIRST, found, key=lambda one: html.ratio(one[1]))
    bars = html.ratio_bars(first)
    key = page.anchor("board", task, direction)
    return charts.ladder(key, task, bars, mark=1.0, mark_name="baseline")


def _counted(task: str, found: list[tuple[str, int]]) -> Any:
    first = heapq.nsmallest(FIRST, found, key=lambda one: (-one[1], one[0]))
    names, counts = zip(*first)
    return _histogram(page.anchor("board", task), task, names, counts)
