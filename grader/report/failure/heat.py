# SPDX-License-Identifier: MIT
"""Draws a wrong result as shades: blocks for a terminal, an SVG for the page.

All planes share one scale. Wrong elements have their own mark: a second map in the
terminal, a cross on the page.
"""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup
from rich.text import Text

from grader.checks.heat_map import HeatMap, Plane, levels
from grader.report.charts import element
from grader.report.encoding import encodes

SHADES, IN_ASCII = " ░▒▓█", " .:*#"
WRONG, RIGHT = "X", "-"
UNKNOWN = " (? is NaN, infinite or not written)"
BETWEEN = 3  # columns between two planes
CELL, GAP, TITLE, LETTER = 16, 26, 20, 7.6  # pixels
STEPS = 9  # classes of the style sheet, heat-0 to heat-8


def blocks(heat: HeatMap, width: int) -> Iterator[Text]:
    """The case, then the planes side by side, one character an element; on a narrow
    terminal those that came and were expected.
    """
    unknown = any(v is None for p in heat.planes for row in p.values for v in row)
    yield Text(f"{caption(heat)}{UNKNOWN * unknown}:", style="dim")
    shades = SHADES if encodes(SHADES) else IN_ASCII
    levelled = levels(heat.planes, len(shades))
    columns = [
        (plane.title, ["".join(_shade(v, shades) for v in row) for row in rows])
        for plane, rows in zip(heat.planes, levelled)
    ]
    marks = next((plane.wrong for plane in heat.planes if plane.wrong), ())
    rows_of_words = [row.replace("#", WRONG).replace(".", RIGHT) for row in marks]
    columns.append((f"wrong: {WRONG}", rows_of_words))
    while len(columns) > 2 and _width(columns) > width:
        columns.pop(0)
    wide = [_wide(title, rows) for title, rows in columns]
    heads = (title.ljust(w) for (title, _), w in zip(columns, wide))
    yield Text((" " * BETWEEN).join(heads).rstrip(), style="dim")
    for number in range(max(len(rows) for _, rows in columns)):
        cells = (
            (rows[number] if number < len(rows) else "").ljust(w)
            for (_, rows), w in zip(columns, wide)
        )
        yield Text((" " * BETWEEN).join(cells), no_wrap=True)


def caption(heat: HeatMap) -> str:
    """Which case is drawn: it may be a smaller one than the sentence is about."""
    part = any(plane.more for plane in heat.planes)
    sizes = f" ({heat.sizes})" if heat.sizes else ""
    around = ", a part around the first wrong element" if part else ""
    return f"case {heat.case}{sizes}{around}"


def _shade(level: int | None, shades: str) -> str:
    return "?" if level is None else shades[level]


def _wide(title: str, rows: list[str]) -> int:
    return max(len(title), *(len(row) for row in rows))


def _width(columns: list[tuple[str, list[str]]]) -> int:
    wide = [_wide(title, rows) for title, rows in columns]
    return sum(wide) + BETWEEN * (len(wide) - 1)


def drawing(heat: HeatMap, key: str) -> Markup:
    """The planes side by side; a cell says its number when it is pointed at."""
    shapes, x, height = [], 0.0, 0.0
    came = next((plane for plane in heat.planes if plane.wrong), None)
    for plane, rows in zip(heat.planes, levels(heat.planes, STEPS)):
        shapes.append(element("text", plane.title, x=x, y=12, class_="heat-title"))
        shapes += _cells(plane, rows, x, crossed=plane is came)
        height = max(height, TITLE + CELL * len(rows))
        letters = LETTER * len(plane.title)
        x += max(CELL * len(plane.values[0]), letters) + GAP
    width = x - GAP
    words = f"Case {heat.case}: a cross marks each element that is wrong."
    return element(
        "svg",
        element("title", "Which elements are wrong", id=f"{key}-title"),
        element("desc", words, id=f"{key}-desc"),
        *shapes,
        class_="heat",
        role="img",
        aria_labelledby=f"{key}-title {key}-desc",
        viewBox=f"0 0 {width:.0f} {height + 1:.0f}",
        width=f"{width:.0f}",
        height=f"{height + 1:.0f}",
    )


def _cells(
    plane: Plane, rows: list[list[int | None]], x: float, *, crossed: bool
) -> Iterator[Markup]:
    for i, row in enumerate(rows):
        for j, level in enumerate(row):
            left, top = x + CELL * j, TITLE + CELL * i
            value = plane.values[i][j]
            said = "not a finite number" if value is None else f"{value:g}"
            bad = crossed and plane.wrong[i][j] == "#"
            yield element(
                "rect",
                element("title", f"{said}{', wrong' if bad else ''}"),
                x=left,
                y=top,
                width=CELL - 1,
                height=CELL - 1,
                class_="heat-none" if level is None else f"heat-{level}",
            )
            if bad:
                d = f"M{left + 4} {top + 4}l7 7m0 -7l-7 7"
                yield element("path", d=d, class_="heat-wrong")
