# SPDX-License-Identifier: MIT
"""The pictures of the bug museum: which elements of a result are wrong.

    python -m tests.proofs.museum [05_gathered_columns ...]

Each exhibit that has a `picture` in lab.toml is run as it was handed out on the case
that stands there, and what came is drawn beside PyTorch's, by the heat map of the
report. The picture brings its colours along: it is the same on every page.
"""

from __future__ import annotations

import math
import re
import sys

import torch
from markupsafe import Markup

from grader import operators
from grader.checks.heat_map import HeatMap, Plane
from grader.checks.subject import Subject
from grader.commands import tables
from grader.course.rungs import EXTENSION, Rung, Selection
from grader.diagnosis.explanation import run_again
from grader.diagnosis.match import Trial
from grader.engine import plan
from grader.engine.checking.rung_checker import Checker
from grader.engine.checking.runnable import of_build
from grader.operators import Operator
from grader.report.charts import element
from grader.report.failure.heat import STEPS, drawing
from grader.toolchain import given
from grader.toolchain.make import build_tools

FOLDER = (tables.PAGE.parent / tables.PICTURES).resolve()
SEED = 11
DIGITS = 3
MARGIN = 12  # pixels
SHEET, INK, FAIL = (255, 255, 255), "#555", "#b3261e"
ACCENT = (31, 90, 150)
SIZE = re.compile(r'viewBox="0 0 (\d+) (\d+)"')


def main(names: list[str]) -> int:
    """Draw the exhibits that are named, or all."""
    build_tools()
    FOLDER.mkdir(parents=True, exist_ok=True)
    checker = Checker(Selection((), frozenset(), whole=False), seed=SEED)
    try:
        for rung in pictured():
            if not names or rung.file.stem in names:
                text = svg(heat_map(checker, rung))
                (FOLDER / tables.picture_name(rung)).write_text(text)
    finally:
        checker.close()
    return 0


def pictured() -> list[Rung]:
    """The exhibits that have a picture."""
    return [rung for rung in tables.exhibits() if rung.exhibit and rung.exhibit.picture]


def svg(heat: HeatMap) -> str:
    """A picture that stands alone."""
    inside = drawing(heat, heat.case)
    size = SIZE.search(inside)
    assert size
    width, height = (int(number) + 2 * MARGIN for number in size.groups())
    moved = f'<svg x="{MARGIN}" y="{MARGIN}" '
    placed = Markup(str(inside).replace("<svg ", moved, 1))
    return (
        element(
            "svg",
            element("style", Markup(_style())),
            element("rect", width=width, height=height, rx=6, fill=_colour(0)),
            placed,
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {width} {height}",
            width=width,
            height=height,
        )
        + "\n"
    )


def heat_map(checker: Checker, rung: Rung) -> HeatMap:
    """What came and what was expected of the broken file, the whole tensor each."""
    exhibit = rung.exhibit
    assert exhibit and exhibit.picture
    operator, name = operators.get(exhibit.operator), exhibit.picture.of
    case = operator.case({**exhibit.picture.case, "name": rung.file.stem})
    subject = _opened(checker, given.broken(rung), operator)
    try:
        backward = name.startswith("grad_")
        trial = run_again(subject, case, SEED, "f64", backward=backward)
    finally:
        subject.close()
    assert trial.got and name in trial.wrong, f"{rung.id}: {name} came out right"
    return HeatMap(case.name, tuple(_planes(trial, name)))


def _opened(checker: Checker, broken: Rung, operator: Operator) -> Subject:
    """What runs an exhibit as it was handed out."""
    if plan.kind(broken) == plan.PYTHON:
        return Subject(operator, source=broken.file, shown=broken.shown)
    if plan.kind(broken) == EXTENSION:
        built = checker.packages.build(broken)
        assert built.folder, built.error
        return Subject(operator, package=built.folder, shown=broken.shown)
    return of_build(broken, checker.links.build(broken), operator)


def _planes(trial: Trial, name: str) -> list[Plane]:
    assert trial.got
    both = {"came": trial.got[name], "expected": trial.setting.truth[name]}
    marks = _matrix(trial.wrong[name])
    wrong = tuple("".join(".#"[int(mark)] for mark in row) for row in marks.tolist())
    made = []
    for word, tensor in both.items():
        rows = [map(_rounded, row) for row in _matrix(tensor).tolist()]
        made.append(Plane(f"{name} {word}", tuple(map(tuple, rows)), wrong))
    return made


def _matrix(tensor: torch.Tensor) -> torch.Tensor:
    """Axes of 1 in front are left out; then a row for each index of the first axis."""
    shape = [*tensor.shape]
    while len(shape) > 2 and shape[0] == 1:
        shape.pop(0)
    return tensor.reshape(shape[0], -1)


def _rounded(value: float) -> float | None:
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None


def _style() -> str:
    shades = [f".heat-{step} {{ fill: {_colour(step + 1)} }}" for step in range(STEPS)]
    return "\n".join(
        [
            f"text {{ fill: {INK}; font: 12px monospace }}",
            ".heat rect { stroke: #999; stroke-width: .5 }",
            ".heat-none { fill: none }",
            f".heat-wrong {{ stroke: {FAIL}; stroke-width: 2.2; fill: none }}",
            *shades,
        ]
    )


def _colour(step: int) -> str:
    """From the sheet towards the accent, never so dark that a cross is hard to see."""
    share = 0.6 * step / STEPS
    mixed = (round(s + share * (a - s)) for s, a in zip(SHEET, ACCENT))
    return "#" + "".join(f"{part:02x}" for part in mixed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
