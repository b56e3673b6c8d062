# SPDX-License-Identifier: MIT
"""Makes one page of HTML from results.json: build/grade/report.html.

The page loads no other file: style, script and charts are inside, and its content
security policy forbids all others. What students wrote is escaped. If a character would
reverse or hide text, its number is shown. The page can be read without its script. The
script only copies commands, filters and changes the colours.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from signatures import DIRECTIONS

from grader.checks.speed.estimate import Estimate, Speed
from grader.course.rungs import ROOT
from grader.course.tasks import offered_tasks
from grader.engine import results
from grader.engine.score import Results, RungResult, TaskResult, shown_points
from grader.errors import GraderError
from grader.report import charts, measured, page, registers, roofline
from grader.report.failure import heat, own_output
from grader.report.measured import positive, shown_bytes
from grader.report.page import Page, key, timed, title
from grader.report.progress.next_step import next_step
from grader.verdicts import Verdict

TEMPLATES = Path(__file__).with_name("templates")
LONGEST = 4000  # characters of one message

# control characters, and those that reorder or hide what surrounds them
_HIDDEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)


def path() -> Path:
    """Where the report is written."""
    return results.folder() / "report.html"


def write(found: Results) -> Path:
    """Make the report of what was found; where it is.

    Raises GraderError if the file cannot be written or jinja2 is not installed.
    """
    return save(render(found), path())


def save(text: str, file: Path) -> Path:
    """A page, written whole or not at all. Raises GraderError."""
    new = file.with_suffix(f".{os.getpid()}.new")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(text, encoding="utf-8", errors="replace")
        new.replace(file)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise GraderError(results.explain(error, file.parent)) from error
    return file


def render(found: Results, root: Path = ROOT) -> str:
    """The whole page as text; excerpts come from the files below `root`."""
    report = Page(found, root, next_step(found, offered_tasks()))
    return document(
        "report.html",
        page=report,
        view=page,
        registers=registers,
        points=shown_points,
        size=shown_bytes,
        measured=measured,
        shares=charts.shares,
        ladders=ladders,
        rooflines=Rooflines(report),
        fastest=fastest(report),
        own_output=own_output.of_rung,
    )


def document(template: str, **words: Any) -> str:
    """A page of the folder templates, with its style and script inside.

    Raises GraderError if jinja2 is not installed.
    """
    try:
        import jinja2
        from markupsafe import Markup
    except ImportError as error:
        raise GraderError(
            "the report needs the package jinja2, which this Python does not have. "
            "Install it (pip install jinja2) or run make without PYTHON="
        ) from error

    def shown(value: Any) -> Any:
        if isinstance(value, Markup) or not isinstance(value, str):
            return value
        return plain(value)

    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script = (TEMPLATES / "script.js").read_text(encoding="utf-8")
    style = templates.get_template("style.css").render()
    return templates.get_template(template).render(
        number=charts.number,
        heat=heat,
        script=Markup(script),
        style=Markup(style),
        script_hash=_hash(script),
        style_hash=_hash(style),
        **words,
    )


def plain(text: str) -> str:
    """A student's text as it may be shown: no hidden marks, and not without end."""
    if len(text) > LONGEST:
        text = text[:LONGEST] + " ... (shortened)"
    return _HIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _hash(text: str) -> str:
    """What the content security policy knows an inline element by."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


# ---- charts of one task --------------------------------------------------------------


def rung_label(rung: RungResult, entry: Speed, *, cases: int = 1) -> str:
    """A file's name as people say it: 03 packed."""
    name = title(rung).replace("_", " ")
    return f"{name}, {entry.case}" if cases > 1 else name


def ladders(task: TaskResult) -> list[tuple[str, Any]]:
    """For each direction: its name, and its bars as ratios or as GFLOP/s."""
    made = []
    for direction in DIRECTIONS:
        mine = [pair for pair in timed(task) if pair[1].direction == direction]
        rated = [(r, s) for r, s in mine if positive(ratio(s))]
        chart: Any = None
        head, name = f"{task.task.id}, {direction}", f"{key(task)}-{direction}"
        if rated:
            against = {s.baseline or "the baseline" for _, s in rated}
            theirs = all(a.startswith("pytorch") for a in against)
            chart = charts.ladder(
                name,
                f"{head}: speed as a ratio to {' and '.join(sorted(against))}",
                ratio_bars(_labelled(rated)),
                mark=1.0,
                mark_name="PyTorch" if theirs else "baseline",
            )
        elif mine := [(r, s) for r, s in mine if positive(s.gflops)]:
            chart = charts.ladder(
                name,
                f"{head}: GFLOP/s",
                _rate_bars(_labelled(mine)),
                mark=None,
                mark_name="",
            )
        if chart:
            unit = "times as fast as the baseline" if rated else "GFLOP/s"
            made.append((f"{direction}, {unit}", chart))
    return made


def _labelled(
    found: Sequence[tuple[RungResult, Speed]],
) -> list[tuple[str, Speed]]:
    cases = len({entry.case for _, entry in found})
    return [(rung_label(rung, entry, cases=cases), entry) for rung, entry in found]


def ratio(entry: Speed) -> float:
    """PyTorch's time over the file's; 0 if it is not known."""
    return entry.ratio.value if entry.ratio else 0


def noisy(entry: Speed) -> bool:
    """Measured, but not well enough to count."""
    return entry.verdict is not Verdict.PASS


def ratio_bars(found: Sequence[tuple[str, Speed]]) -> list[charts.Bar]:
    """A bar for each label: its ratio, with the interval in words."""
    best = max(ratio(entry) for _, entry in found)
    return [
        charts.Bar(
            label,
            entry.ratio.value,
            _interval(entry.ratio) + (f", {entry.verdict}" if noisy(entry) else ""),
            entry.ratio.low,
            entry.ratio.high,
            best=entry.ratio.value == best,
            noisy=noisy(entry),
        )
        for label, entry in found
        if entry.ratio
    ]


def _rate_bars(found: Sequence[tuple[str, Speed]]) -> list[charts.Bar]:
    best = max(entry.gflops or 0 for _, entry in found)
    return [
        charts.Bar(
            label,
            entry.gflops or 0,
            f"{charts.number(entry.gflops)} GFLOP/s",
            best=entry.gflops == best,
            noisy=noisy(entry),
        )
        for label, entry in found
    ]


def _interval(found: Estimate) -> str:
    value, low, high = map(charts.number, (found.value, found.low, found.high))
    return f"{value}× ({low} – {high})"


# ---- rooflines -----------------------------------------------------------------------

BACKDROP = "roofs"  # the id of what is behind all rooflines


class Rooflines:
    """All rooflines of a page, in one frame."""

    def __init__(self, report: Page) -> None:
        self.tasks = {task.task.id: _task_points(task) for task in report.tasks}
        every = [point for points in self.tasks.values() for point in points]
        most = max(map(len, self.tasks.values()), default=0)
        self.best = _best_points(report)
        self.frame = (
            roofline.frame(every, report.machine, labels=max(most, len(self.best)))
            if every
            else None
        )

    def backdrop(self) -> Any:
        """The grid and the roofs, once; nothing where there is nothing to place."""
        return roofline.backdrop(BACKDROP, self.frame) if self.frame else ""

    def of(self, task: TaskResult) -> Any:
        """Every file of a task under the roofs, or None."""
        name = task.task.id
        words = f"{key(task)}-roofline", f"Roofline of {name}"
        return self._drawn(*words, self.tasks[name])

    def overview(self) -> Any:
        """The fastest forward of each operator, or None."""
        return self._drawn("roofline", "Roofline of the fastest files", self.best)

    def _drawn(self, name: str, head: str, points: list[roofline.Point]) -> Any:
        if not points or self.frame is None:
            return None
        return roofline.roofline(name, head, points, self.frame, backdrop=BACKDROP)


def _task_points(task: TaskResult) -> list[roofline.Point]:
    found = [point(label, entry) for label, entry in _labelled(timed(task))]
    return [made for made in found if made]


def _best_points(report: Page) -> list[roofline.Point]:
    """The fastest forward of each operator, whatever lab it is from."""
    best: dict[str, roofline.Point] = {}
    for task, found in fastest(report):
        entry = found["forward"][1] if "forward" in found else None
        operator = task.task.operator
        made = point(operator, entry) if entry else None
        before = best.get(operator)
        if made and (before is None or made.gflops > before.gflops):
            best[operator] = made
    return list(best.values())


def point(label: str, entry: Speed) -> roofline.Point | None:
    """A measurement under the roofs, if its work is counted."""
    if not entry.intensity or not entry.gflops:
        return None
    if min(entry.intensity, entry.gflops) <= 0:
        return None
    backward = entry.direction == "backward"
    return roofline.Point(label, entry.intensity, entry.gflops, backward)


def fastest(
    report: Page,
) -> list[tuple[TaskResult, dict[str, tuple[RungResult, Speed]]]]:
    """Of each task and direction the measurement with the highest ratio, or rate."""
    found = []
    for task in report.tasks:
        best: dict[str, tuple[RungResult, Speed]] = {}
        for rung, entry in timed(task):
            before = best.get(entry.direction)
            if before is None or _speed_of(entry) > _speed_of(before[1]):
                best[entry.direction] = (rung, entry)
        if best:
            found.append((task, best))
    return found


def _speed_of(entry: Speed) -> tuple[float, float]:
    return ratio(entry), entry.gflops or 0
