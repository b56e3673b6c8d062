# SPDX-License-Identifier: MIT
"""Draws the charts of the HTML report, as inline SVG.

Horizontal positions are percentages, vertical ones are pixels. So a chart takes the
given width, and its text keeps its size, on a phone as on paper. The page's style sheet
sets colours by class, so one drawing serves light, dark and print. Each chart has a
title and a description. A table beside the chart shows the numbers too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

ROW = 36  # pixels of one bar with its line of text
MARK, NEAR = 0.25, 0.05  # share of a phone's width: the reference's name, a number
LONGEST = 20  # letters of a label


@dataclass(frozen=True)
class Bar:
    """One bar: a value with its interval."""

    label: str
    value: float
    text: str  # the number, as it is written at the end of the line
    low: float | None = None
    high: float | None = None
    best: bool = False
    noisy: bool = False


def element(name: str, *children: object, **attributes: object) -> Markup:
    """An element; `_` in an attribute's name is `-`, children that are text escaped."""
    written = Markup("").join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), value)
        for key, value in attributes.items()
        if value is not None
    )
    inside = Markup("").join(escape(child) for child in children)
    if not inside:
        return Markup("<{0}{1}/>").format(Markup(name), written)
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(name), written, inside)


def picture(
    key: str, title: str, description: str, *, height: float, shapes: Iterable[Markup]
) -> Markup:
    """An SVG that a screen reader announces by its title and description."""
    return element(
        "svg",
        element("title", title, id=f"{key}-title"),
        element("desc", description, id=f"{key}-desc"),
        *shapes,
        class_="chart",
        role="img",
        aria_labelledby=f"{key}-title {key}-desc",
        width="100%",
        height=f"{height:.0f}",
    )


def percent(fraction: float) -> str:
    """A share of the chart's width."""
    return f"{100 * fraction:.1f}".removesuffix(".0") + "%"


def pixels(value: float) -> str:
    """A place down the chart."""
    return f"{value:.1f}".removesuffix(".0")


def text(
    words: str, x: float, y: float, *, anchor: str = "start", **more: object
) -> Markup:
    """Words that begin, end or are centred at a place."""
    return element(
        "text",
        words,
        x=percent(x) if x else None,
        y=pixels(y),
        text_anchor=None if anchor == "start" else anchor,
        **more,
    )


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    """A straight line of a class."""
    return element(
        "line",
        class_=kind,
        x1=percent(x1) if x1 else None,
        y1=pixels(y1) if y1 else None,
        x2=percent(x2),
        y2=pixels(y2),
    )


def number(value: float | None, digits: int = 3) -> str:
    """A measured number with as many digits as it deserves; a dash for none."""
    if value is None or not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    return f"{round(value, digits - 1 - size):.{max(0, digits - 1 - size)}f}"


# ---- points --------------------------------------------------------------------------


def shares(
    key: str, title: str, parts: Sequence[tuple[str, float]], of: float
) -> Markup:
    """One bar of parts of a whole: (class, size) from the left; no text of its own."""
    shapes = [element("rect", class_="track", width="100%", height="10", rx="2")]
    at = 0.0
    for kind, size in parts:
        if size > 0 and of > 0:
            width = percent(size / of)
            box = {"x": percent(at / of), "width": width, "height": "10", "rx": "2"}
            shapes.append(element("rect", class_=kind, **box))
            at += size
    words = ", ".join(f"{kind} {size:g}" for kind, size in parts)
    return picture(key, title, f"{words}, of {of:g} points", height=10, shapes=shapes)


# ---- ladder --------------------------------------------------------------------------


def ladder(
    key: str, title: str, bars: Sequence[Bar], *, mark: float | None, mark_name: str
) -> Markup:
    """Horizontal bars from zero with their intervals, and a line to compare with."""
    largest = max(max(bar.value, bar.high or 0) for bar in bars)
    reach = largest * 1.04 or 1.0
    shown = mark is not None and largest >= mark / 10
    if mark is not None and shown:
        reach = max(reach, mark * 1.08)
    bottom = ROW * len(bars) + 2
    shapes: list[Markup] = []
    ticks = _ticks(reach)
    for tick in ticks:
        at = tick / reach
        shapes.append(line(at, 0, at, bottom, "grid"))
        anchor = "start" if tick == 0 else "middle"
        if not (mark is not None and shown and _beneath(at, mark / reach)):
            words = f"{tick:g}"
            shapes.append(text(words, at, bottom + 14, anchor=anchor, class_="axis"))
    if mark is not None and shown:
        at = mark / reach
        anchor = _anchor(at)
        shapes.append(line(at, 0, at, bottom + 3, "reference"))
        words = f"{mark:g} = {mark_name}"
        shapes.append(text(words, at, bottom + 14, anchor=anchor, class_="axis strong"))
    for index, bar in enumerate(bars):
        shapes += _bar(bar, ROW * index, reach)
    best = max(bars, key=lambda bar: bar.value)
    described = f"{len(bars)} bars; the longest is {best.label}, {best.text}"
    return picture(key, title, described, height=bottom + 22, shapes=shapes)


def _anchor(at: float) -> str:
    """Which side of the reference line its name goes to."""
    return "end" if at > 0.7 else "middle" if at > 0.25 else "start"


def _beneath(tick: float, at: float) -> bool:
    """Whether a tick's number would touch the name of the reference line."""
    before = {"start": 0.0, "middle": 0.5, "end": 1.0}[_anchor(at)] * MARK
    return at - before - NEAR < tick < at - before + MARK + NEAR


def _bar(bar: Bar, top: float, reach: float) -> list[Markup]:
    kind = "bar noisy" if bar.noisy else "bar best" if bar.best else "bar"
    strong = "strong" if bar.best else None
    y = top + 19
    shapes = [
        text(short(bar.label, 34), 0, top + 13, class_=strong),
        text(bar.text, 1, top + 13, anchor="end", class_=strong),
        element("rect", class_=kind, y=pixels(y), width=percent(bar.value / reach)),
    ]
    if bar.low is not None and bar.high is not None:
        low, high = bar.low / reach, min(bar.high / reach, 1)
        shapes.append(line(low, y + 5.5, high, y + 5.5, "whisker"))
    return shapes


def _ticks(reach: float) -> list[float]:
    """Four to six round numbers from zero."""
    step = 10 ** math.floor(math.log10(reach / 4))
    step *= next((f for f in (1, 2, 2.5, 5) if reach / (f * step) <= 5.5), 10)
    return [step * i for i in range(int(reach / step) + 1)]


def short(label: str, longest: int = LONGEST) -> str:
    """A label that is cut where it would run into something."""
    return label if len(label) <= longest else label[: longest - 1] + "…"
