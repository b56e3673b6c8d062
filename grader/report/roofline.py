# SPDX-License-Identifier: MIT
"""Draws the roofline chart: work per second against work per byte, under the roofs.

The roofs are the rates of this machine. Both axes are logarithmic. All rooflines of a
page have the same frame, so that they can be compared. The background is drawn once.
Labels do not overlap.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from grader.report.charts import (
    element,
    line,
    number,
    percent,
    picture,
    pixels,
    short,
    text,
)
from grader.report.measured import Machine

LABEL = 14  # pixels between two labels
WIDTH = 500  # pixels: the narrowest a roofline is drawn; labels must fit then
LETTER = 6.2  # pixels of one letter of a label


@dataclass(frozen=True)
class Point:
    """One measurement under the roofs."""

    label: str
    intensity: float  # flops per byte
    gflops: float
    backward: bool = False


@dataclass(frozen=True)
class Frame:
    """Both logarithmic axes, the pixels they span, and the roofs between them.

    All rooflines of a page have one frame: they can be compared, and what is behind
    the points is drawn once.
    """

    x: tuple[float, float]
    y: tuple[float, float]
    top: float
    bottom: float
    machine: Machine | None

    def across(self, value: float) -> float:
        """0 at the left, 1 at the right."""
        low, high = (math.log(end) for end in self.x)
        return (math.log(value) - low) / (high - low)

    def down(self, value: float) -> float:
        """Pixels from the top."""
        low, high = (math.log(end) for end in self.y)
        share = (math.log(value) - low) / (high - low)
        return self.bottom - share * (self.bottom - self.top)

    def clear(self, flat: float) -> float | None:
        """Where the name of a flat roof begins: right of all slopes, if they cross it.

        None for the highest roof, whose name stands at the right end.
        """
        levels = self.machine.bandwidth if self.machine else ()
        peak = self.machine.fma_gflops if self.machine else None
        if not levels or flat == peak:
            return None
        return self.across(flat / min(level.gbs for level in levels))

    def value(self, y: float) -> float:
        """What stands at so many pixels from the top."""
        low, high = (math.log(end) for end in self.y)
        share = (self.bottom - y) / (self.bottom - self.top)
        return math.exp(low + share * (high - low))


def frame(points: Sequence[Point], machine: Machine | None, *, labels: int) -> Frame:
    """A frame for these points, with room for so many labels above each other."""
    xs = [point.intensity for point in points]
    ys = [point.gflops for point in points]
    levels = machine.bandwidth if machine else ()
    peak = machine.fma_gflops if machine else None
    if machine:
        ys += [v for v in (peak, machine.multiply_add_gflops) if v]
    if peak:
        xs += [peak / level.gbs for level in levels]
    top = LABEL * (len(levels) + 1) + 10.0 if peak else 16.0
    return Frame(
        (min(xs) / 6, max(xs) * 8),
        (min(ys) / 2, max(ys) * 1.25),
        top,
        top + max(280, LABEL * (labels + 2)),
        machine,
    )


def backdrop(key: str, behind: Frame) -> Markup:
    """The grid and the roofs, to be used by every roofline of the page."""
    return element("g", *_grid(behind), *_roofs(behind), id=key)


def roofline(
    key: str, title: str, points: Sequence[Point], behind: Frame, *, backdrop: str
) -> Markup:
    """Work per second against work per byte, under what this machine can do."""
    shapes = [element("use", href=f"#{backdrop}"), *_points(behind, points)]
    best = max(points, key=lambda point: point.gflops)
    described = (
        f"{len(points)} points; the highest is {best.label}, {number(best.gflops)} "
        f"GFLOP/s at {number(best.intensity)} flops per byte"
    )
    return picture(key, title, described, height=behind.bottom + 38, shapes=shapes)


def _grid(frame: Frame) -> list[Markup]:
    shapes = []
    for tick in _decades(*frame.x):
        at = frame.across(tick)
        shapes.append(line(at, frame.top, at, frame.bottom, "grid"))
        under = frame.bottom + 15
        shapes.append(text(f"{tick:g}", at, under, anchor="middle", class_="axis"))
    for tick in _decades(*frame.y):
        y = frame.down(tick)
        shapes.append(line(0, y, 1, y, "grid"))
        shapes.append(text(f"{tick:g}", 0, y + 4, anchor="end", class_="axis", dx="-6"))
    shapes.append(line(0, frame.bottom, 1, frame.bottom, "frame"))
    shapes.append(line(0, frame.top, 0, frame.bottom, "frame"))
    under = frame.bottom + 32
    shapes.append(text("flops per byte", 1, under, anchor="end", class_="axis"))
    shapes.append(text("GFLOP/s", 0, frame.top - 10, class_="axis", dx="-40"))
    return shapes


def _decades(low: float, high: float) -> list[float]:
    """Powers of ten; with 2 and 5 between them where there are few."""
    wide = math.log10(high / low)
    inner = (1,) if wide > 3.5 else (1, 3) if wide > 1.2 else (1, 2, 5)
    start, end = math.floor(math.log10(low)), math.ceil(math.log10(high))
    ticks = [f * 10.0**e for e in range(start, end + 1) for f in inner]
    return [tick for tick in ticks if low <= tick <= high]


def _roofs(frame: Frame) -> list[Markup]:
    """The slopes of the bandwidths, the flat roofs, and their names."""
    shapes: list[Markup] = []
    machine = frame.machine
    if machine is None:
        return shapes
    peak = machine.fma_gflops
    levels = sorted(machine.bandwidth, key=lambda level: -level.gbs)
    for flat, name, kind in _flats(machine):
        start = flat / levels[0].gbs if levels else frame.x[0]
        at, y = max(0.0, frame.across(start)), frame.down(flat)
        shapes.append(line(at, y, 1, y, kind))
        place = frame.clear(flat)
        if place is None:
            shapes.append(text(name, 1, y - 5, anchor="end", class_="axis halo"))
        else:
            shapes.append(text(name, place, y - 5, class_="axis halo", dx="8"))
    for index, level in enumerate(levels):
        start = max(frame.x[0], frame.y[0] / level.gbs)
        end = min(peak / level.gbs if peak else frame.x[1], frame.x[1])
        x1, x2 = frame.across(start), frame.across(end)
        y1, y2 = frame.down(level.gbs * start), frame.down(level.gbs * end)
        shapes.append(line(x1, y1, x2, y2, "roof"))
        if peak:
            up = y2 - LABEL * (len(levels) - index) - 2
            shapes.append(line(x2, y2, x2, up - 4, "leader"))
            words = f"{level.name} {number(level.gbs)} GB/s"
            shapes.append(text(words, x2, up, class_="axis halo", dx="4"))
    return shapes


def _flats(machine: Machine | None) -> list[tuple[float, str, str]]:
    """The roofs that do not depend on memory: height, name, class."""
    if machine is None:
        return []
    peak, scalar = machine.fma_gflops, machine.multiply_add_gflops
    named = [(peak, "FMA peak", "roof"), (scalar, "scalar multiply-add", "roof scalar")]
    return [(v, f"{name} {number(v)}", kind) for v, name, kind in named if v]


def _points(frame: Frame, points: Sequence[Point]) -> list[Markup]:
    """Marks, and beside them labels that make room for each other."""
    shapes: list[Markup] = []
    for point, right, y in placed(frame, points):
        across = frame.across(point.intensity)
        here = frame.down(point.gflops)
        inner = [
            element(
                "path",
                class_="leader",
                d=f"M0 0L{9 if right else -9} {pixels(y - here)}",
            ),
            element(
                "text",
                short(point.label),
                x=12 if right else -12,
                y=pixels(y - here + 4),
                text_anchor="start" if right else "end",
                class_="halo",
            ),
        ]
        if point.backward:
            mark = element("use", href="#backward")
        else:
            mark = element("use", href="#forward")
        shapes.append(
            element("svg", *inner, mark, class_="at", x=percent(across), y=pixels(here))
        )
    return shapes


@dataclass(frozen=True)
class _Box:
    """What a label or a mark covers, at the narrowest width."""

    left: float
    right: float
    y: float  # its middle

    def meets(self, other: _Box) -> bool:
        """Whether both cover the same place."""
        apart = self.right <= other.left or other.right <= self.left
        return not apart and abs(self.y - other.y) < LABEL - 1


def placed(frame: Frame, points: Sequence[Point]) -> list[tuple[Point, bool, float]]:
    """Every point with the side of its label and the label's height.

    Two directions go to two sides. Labels of one column stay in order and move apart;
    a label that stands alone takes the nearest free height.
    """
    taken = [_mark(frame, point) for point in points]
    names = _roof_names(frame)
    placed = []
    for right in (True, False):
        side = [p for p in points if _right(p, points, frame) is right]
        for column in _columns(frame, side):
            heights = _apart([frame.down(p.gflops) for p in column], frame)
            avoided = names if len(column) == 1 else []
            for point, wanted in zip(column, heights):
                steps = (0, -1, 1, -2, 2, -3, 3) if len(column) == 1 else (0, 1, 2)
                tries = [
                    _label(frame, point, wanted + LABEL * s, right=right) for s in steps
                ]
                free = [b for b in tries if not any(map(b.meets, taken + avoided))]
                box = (free or tries)[0]
                taken.append(box)
                placed.append((point, right, box.y))
    return placed


def _mark(frame: Frame, point: Point) -> _Box:
    x = frame.across(point.intensity) * WIDTH
    return _Box(x - 6, x + 6, frame.down(point.gflops))


def _label(frame: Frame, point: Point, y: float, *, right: bool) -> _Box:
    x = frame.across(point.intensity) * WIDTH
    size = LETTER * len(short(point.label))
    return _Box(x + 8, x + 12 + size, y) if right else _Box(x - 12 - size, x - 8, y)


def _roof_names(frame: Frame) -> list[_Box]:
    boxes = []
    for flat, name, _ in _flats(frame.machine):
        size = LETTER * len(name)
        place = frame.clear(flat)
        left = WIDTH - size if place is None else WIDTH * place + 8
        boxes.append(_Box(left, left + size, frame.down(flat) - 9))
    return boxes


def _right(point: Point, points: Sequence[Point], frame: Frame) -> bool:
    here = [p.intensity for p in points if p.backward is point.backward]
    other = [p.intensity for p in points if p.backward is not point.backward]
    if not other:
        return _label(frame, point, 0, right=True).right < WIDTH
    mine, theirs = sum(here) / len(here), sum(other) / len(other)
    return mine > theirs or (mine == theirs and not point.backward)


def _columns(frame: Frame, points: Sequence[Point]) -> list[list[Point]]:
    """Points above each other, each column from the top down; the longest first."""
    columns: list[list[Point]] = []
    for point in sorted(points, key=lambda p: p.intensity):
        last = columns[-1][-1].intensity if columns else 0
        gap = frame.across(point.intensity) - frame.across(last) if last else 1
        if gap * WIDTH < LABEL:
            columns[-1].append(point)
        else:
            columns.append([point])
    ordered = [sorted(column, key=lambda p: -p.gflops) for column in columns]
    return sorted(ordered, key=len, reverse=True)


def _apart(heights: Sequence[float], frame: Frame) -> list[float]:
    """Sorted heights moved to at least a label's height from each other."""
    moved: list[float] = []
    for y in heights:
        moved.append(max(y, moved[-1] + LABEL) if moved else max(y, frame.top + 6))
    limit = frame.bottom - 6
    for index in reversed(range(len(moved))):
        moved[index] = min(moved[index], limit)
        limit = moved[index] - LABEL
    return moved
