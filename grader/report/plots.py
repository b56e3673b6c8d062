# SPDX-License-Identifier: MIT
"""The two pictures of `make bench`, as PNG: the ladder and the roofline.

They show what the charts of the HTML report show, for a README or a slide. Rows are
speed entries of results.json with two words more: `rung` and `task`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from grader.errors import GraderError
from grader.report.charts import number
from grader.report.measured import Machine, Speed, positive, speed
from grader.report.measured import machine as read_machine
from grader.report.roofline import Frame, Point, frame, placed

DPI = 150
WIDTH, HEIGHT = 6.0, 3.34  # inches: 900 x 500 pixels
ROW = 0.23  # inches of one bar

ACCENT, PALE, INK, SOFT, RULE = "#0b5cad", "#a9c8e8", "#1b1f24", "#57606b", "#d9dce0"
PENDING = "#7d5700"
HALO = [withStroke(linewidth=2, foreground="white")]
STYLE: dict[Any, Any] = {
    "font.size": 8,
    "font.family": "sans-serif",
    "text.color": INK,
    "axes.edgecolor": RULE,
    "axes.labelcolor": SOFT,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#eceef0",
    "grid.linewidth": 0.8,
    "xtick.color": SOFT,
    "ytick.color": INK,
    "legend.frameon": False,
}

CROWD = 8  # points; beyond, labels would cover each other
# distinct also to the colour-blind: Okabe and Ito, Color Universal Design, 2008
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def ladder(rows: Sequence[Mapping[str, Any]], path: Path) -> Path:
    """Bars of the ratio to PyTorch with their intervals, one for each rung.

    Raises GraderError if no row has a ratio.
    """
    timed = [(row, speed(row)) for row in rows]
    timed = [(row, entry) for row, entry in timed if positive(entry.ratio)]
    if not timed:
        raise GraderError("nothing to draw: no row has a ratio; time a rung first")
    height = max(HEIGHT, ROW * len(timed) + 0.9)
    with _axes(path, height) as axes:
        names = [_name(row, entry, timed) for row, entry in timed]
        for place, (_, entry) in enumerate(timed):
            _bar(axes, place, entry)
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False, axis="y")
        largest = max(entry.high or entry.ratio or 0 for _, entry in timed)
        axes.set_xlim(0, max(largest * 1.16, 1.08))
        axes.axvline(1, color=INK, linewidth=1, linestyle=(0, (3, 3)))
        axes.set_xlabel("times as fast as PyTorch (dashed line), with 95 % interval")
        axes.set_title(_title(rows))
    return path


def _bar(axes: Axes, place: int, entry: Speed) -> None:
    ratio = entry.ratio or 0
    low = ratio if entry.low is None else entry.low
    high = ratio if entry.high is None else entry.high
    colour = ACCENT if entry.direction == "forward" else PALE
    look: dict[str, Any] = {"color": colour}
    if entry.noisy:
        look = {"color": "none", "edgecolor": PENDING, "linestyle": "--"}
    axes.barh(place, ratio, height=0.62, **look)
    reach = [[max(0.0, ratio - low)], [max(0.0, high - ratio)]]
    axes.errorbar(
        ratio, place, xerr=reach, fmt="none", ecolor=INK, elinewidth=0.9, capsize=2
    )
    text = f"{number(ratio)}×" + (f" {entry.verdict}" if entry.noisy else "")
    _say(axes, text, high, place, (4, 0), va="center")


def roofline(
    rows: Sequence[Mapping[str, Any]], machine: Mapping[str, Any] | None, path: Path
) -> Path:
    """Every rung as a point under the roofs of the machine, both axes logarithmic.

    Raises GraderError if no row has GFLOP/s and flops per byte.
    """
    timed = [(row, speed(row)) for row in rows]
    drawn = [(row, s) for row, s in timed if (s.intensity or 0) > 0 < (s.gflops or 0)]
    points = [
        Point(
            _name(row, s, timed, direction=False),
            s.intensity or 0.0,
            s.gflops or 0.0,
            s.direction == "backward",
        )
        for row, s in drawn
    ]
    if not points:
        raise GraderError(
            "nothing to draw: no row has GFLOP/s and flops per byte; time a rung first"
        )
    known = read_machine(machine)
    area = frame(points, known, labels=len(points) // 2)
    with _axes(path, HEIGHT) as axes:
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(*area.x)
        axes.set_ylim(area.y[0], area.y[1] * (1.6 if known else 1))
        if known:
            _roofs(axes, area, known)
        if len(points) > CROWD:
            _groups(axes, points, [_rung(row, timed) for row, _ in drawn])
        else:
            _points(axes, area, points)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.minorticks_off()
        axes.set_xlabel("flops per byte")
        axes.set_ylabel("GFLOP/s")
        axes.set_title(_title(rows))
    return path


def _roofs(axes: Axes, area: Frame, machine: Machine) -> None:
    peak = machine.fma_gflops
    levels = sorted(machine.bandwidth, key=lambda level: -level.gbs)
    steepest = levels[0].gbs if levels else math.inf
    for flat, name, look in (
        (peak, "FMA peak", "-"),
        (machine.multiply_add_gflops, "scalar multiply-add", "--"),
    ):
        if flat:
            start = max(area.x[0], flat / steepest)
            axes.plot([start, area.x[1]], [flat, flat], look, color=INK, linewidth=1.1)
            place = area.clear(flat)
            text = f"{name} {number(flat)}"
            if place is None:
                _say(axes, text, area.x[1], flat, (-2, 3), ha="right")
            else:
                slowest = min(level.gbs for level in levels)
                _say(axes, text, flat / slowest, flat, (6, 3), ha="left")
    for level, slower in zip(levels, [*levels[1:], None]):
        near = slower is not None and slower.gbs > level.gbs / 1.8
        end = min(area.x[1], peak / level.gbs) if peak else area.x[1]
        start = area.y[0] / level.gbs
        ends = [start, end]
        axes.plot(ends, [level.gbs * x for x in ends], color=INK, linewidth=1.1)
        if end > area.x[0]:
            text = f"{level.name} {number(level.gbs)} GB/s"
            side = "right" if near else "left"  # away from the next roof's name
            _say(axes, text, end, level.gbs * end, (-3, 3), rotation=25, ha=side)


def _points(axes: Axes, area: Frame, points: Sequence[Point]) -> None:
    for backward, word, mark in ((False, "forward", "o"), (True, "backward", "D")):
        mine = [p for p in points if p.backward is backward]
        if mine:
            axes.plot(
                [p.intensity for p in mine],
                [p.gflops for p in mine],
                mark,
                label=word,
                markersize=4.5,
                color=ACCENT,
                markerfacecolor="white" if backward else ACCENT,
                zorder=3,
            )
    for point, right, height in placed(area, points):
        axes.annotate(
            point.label,
            (point.intensity, point.gflops),
            xytext=(
                point.intensity * (1.18 if right else 1 / 1.18),
                area.value(height),
            ),
            va="center",
            ha="left" if right else "right",
            fontsize=6.5,
            arrowprops={
                "arrowstyle": "-",
                "color": SOFT,
                "linewidth": 0.4,
                "relpos": (0 if right else 1, 0.5),
                "shrinkA": 1,
            },
            path_effects=HALO,
        )
    if len({point.backward for point in points}) > 1:
        above: dict[str, Any] = {
            "loc": "lower right",
            "bbox_to_anchor": (1, 0.99),
            "borderpad": 0,
        }
        axes.legend(ncols=2, fontsize=7, handletextpad=0.1, **above)


def _groups(axes: Axes, points: Sequence[Point], rungs: Sequence[str]) -> None:
    """Many points: a colour for each rung, named once; cases are not told apart."""
    for rung, colour in zip(dict.fromkeys(rungs), itertools.cycle(COLOURS)):
        for backward, mark in ((False, "o"), (True, "D")):
            mine = [
                p for p, r in zip(points, rungs) if r == rung and p.backward is backward
            ]
            axes.plot(
                [p.intensity for p in mine],
                [p.gflops for p in mine],
                mark,
                label=f"{rung} {'backward' if backward else 'forward'}",
                markersize=4.5,
                color=colour,
                markerfacecolor="white" if backward else colour,
                zorder=3,
            )
    axes.legend(loc="lower left", fontsize=6.5, handletextpad=0.1)


def _say(
    axes: Axes, text: str, x: float, y: float, by: tuple[float, float], **look: Any
) -> None:
    axes.annotate(
        text,
        (x, y),
        xytext=by,
        textcoords="offset points",
        fontsize=6.5,
        color=SOFT,
        path_effects=HALO,
        **look,
    )


# ---- names and files -----------------------------------------------------------------


def _name(
    row: Mapping[str, Any],
    entry: Speed,
    every: Sequence[tuple[Mapping[str, Any], Speed]],
    *,
    direction: bool = True,
) -> str:
    """What tells a row from the others: the file, and what differs besides."""
    words = [str(row.get("rung", "")).rpartition("/")[2].replace("_", " ")]
    if len({str(other.get("task")) for other, _ in every}) > 1:
        words.insert(0, str(row.get("task", "")).rpartition("/")[2])
    if direction and len({other.direction for _, other in every}) > 1:
        words.append(entry.direction)
    if len({other.case for _, other in every}) > 1:
        words.append(entry.case)
    return " ".join(words)


def _rung(
    row: Mapping[str, Any], every: Sequence[tuple[Mapping[str, Any], Speed]]
) -> str:
    """A row's file, with its operator where there are several."""
    task, _, file = str(row.get("rung", "")).rpartition("/")
    several = len({str(other.get("task")) for other, _ in every}) > 1
    return f"{task.rpartition('/')[2]} {file}" if several else file


def _title(rows: Sequence[Mapping[str, Any]]) -> str:
    """The task, or nothing where there are several."""
    tasks = {str(row.get("task", "")) for row in rows}
    cases = {str(row.get("case", "")) for row in rows}
    if len(tasks) > 1:
        return ""
    return tasks.pop() + (f", case {cases.pop()}" if len(cases) == 1 else "")


@contextmanager
def _axes(path: Path, height: float) -> Iterator[Axes]:
    """Axes of a figure that is written to `path` at the end, by the Agg renderer."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        yield figure.add_subplot()
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=DPI, metadata={"Software": None})
