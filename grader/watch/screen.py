# SPDX-License-Identifier: MIT
"""Draws a view as a screen of text: a file's checks, its errors and its state."""

from __future__ import annotations

import time
from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.segment import Segment
from rich.text import Text
from signatures import DIRECTIONS

from grader.checks.check_result import CheckResult
from grader.checks.speed.estimate import Speed
from grader.course.exhibits import PARTS
from grader.course.rungs import ROOT, Rung
from grader.engine.score import RungResult, shown_points
from grader.report.check_words import check_words
from grader.report.failure import heat, own_output
from grader.report.failure.excerpt import AROUND, excerpt
from grader.toolchain import given
from grader.verdicts import Verdict
from grader.watch.view import HELP, HINTS, LIST, View

KEYS = (  # key, the word below, what it does
    ("n", "next", "go to the next file"),
    ("p", "back", "go to the file before"),
    ("h", "hint", "show a hint; press h again for the next hint"),
    ("r", "all", "grade all files that are watched"),
    ("s", "speed", "grade this file again, with its speed"),
    ("d", "debug", "stop inside the case that failed"),
    ("l", "list", "list all files, and show which are right"),
    ("o", "page", "open the report in a browser"),
    ("?", "keys", "show these keys; Escape closes the list"),
    ("q", "quit", "end make watch"),
)
NUMBERS = ("forward", "gradient")  # checks of which "not written yet" is all
NO_STATUS = "returns STATUS_NOT_IMPLEMENTED"
ANSWERS = {".py": "raises NotImplementedError", ".cpp": "says that it is not written"}
BAR = 20  # characters of the bar of files that are right
NAMES = 44  # of the column with the checks' names, or the files'
WORDS = 15  # of a verdict


class Screen:
    """A view, drawn to the size of the terminal."""

    def __init__(self, view: View) -> None:
        self.view = view

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> RenderResult:
        """The file above, its checks in the middle, keys below."""
        height = options.height or console.height
        inner = options.update(height=None)

        def lines(parts: Iterator[RenderableType]) -> list[list[Segment]]:
            return [
                line for part in parts for line in console.render_lines(part, inner)
            ]

        head, foot = lines(_head(self.view)), lines(_foot(self.view))
        room = max(0, height - len(head) - len(foot))
        for around in range(AROUND, -1, -1):  # the marked line comes before its like
            body = lines(_body(self.view, room, options.max_width, around))
            if len(body) <= room:
                break
        if len(body) > room:
            body = body[: room - 1] + lines(iter([Text("...", style="dim")]))
        body += [[] for _ in range(room - len(body))]
        shown = [*head, *body, *foot][:height]
        for number, line in enumerate(shown):
            yield from line
            if number < len(shown) - 1:
                yield Segment.line()


def verdict(word: Verdict | None) -> Text:
    """A verdict; colour only repeats it."""
    if word is None:
        return Text("-", style="dim")
    if word is Verdict.PASS:
        return Text("PASS", style="green")
    return Text(str(word), style="yellow" if word.pending else "bold red")


def _head(view: View) -> Iterator[RenderableType]:
    place = f"{view.at + 1}/{len(view.rungs)}"
    yield Text(f"{view.rung.shown}  ({place})", style="bold", overflow="ellipsis")
    yield Text("")


def _body(view: View, room: int, width: int, around: int) -> Iterator[RenderableType]:
    if view.panel == LIST:
        yield from _list(view, room)
        return
    if view.panel == HELP:
        for key, _, meaning in KEYS:
            yield Text(f"  {key}  {meaning}")
        return
    if view.panel == HINTS:
        for number, text in enumerate(view.hints, start=1):
            yield Text(f"hint {number} of {len(view.hinted.hints)}: {text}")
            yield Text("")
        more = "the next hint" if view.more_hints else "the checks again"
        yield Text(f"Press h for {more}.", style="dim")
        return
    for check in view.checks:
        yield _check(check)
    if view.result:
        yield from _speeds(view.result)
    bad = next((c for c in view.checks if c.verdict is not Verdict.PASS), None)
    if bad:
        unwritten = bad.verdict is Verdict.NOT_IMPLEMENTED and bad.name in NUMBERS
        if unwritten and not bad.of:
            yield from _to_write(view)
            yield from _printed(bad)
        else:
            yield from _wrong(view.rung, bad, width, around)
    elif view.result and view.result.checks:
        yield from _printed(next((c for c in view.checks if c.printed), None))
        yield Text("")
        for said in _what_next(view):
            yield Text(f"  {said}")


def _check(check: CheckResult) -> Text:
    """One line: which check, of what, what came of it."""
    cases = f"  {check.cases} case{'s' * (check.cases > 1)}" if check.cases else ""
    name = Text(f"  {check_words(check):<{NAMES}}")
    return name + verdict(check.verdict) + Text(cases, style="dim")


def _to_write(view: View) -> Iterator[RenderableType]:
    """What a file lacks, where nothing in it is wrong. It may be written, and still end
    as the starter did.
    """
    no = Verdict.NOT_IMPLEMENTED
    lacking = dict.fromkeys(c.direction for c in view.checks if c.verdict is no)
    yield Text("")
    said = f"To write: {' and '.join(lacking)}. "
    if not given.is_untouched(view.rung):
        each = "each still" if len(lacking) > 1 else "it still"
        said += f"({each} {ANSWERS.get(view.rung.file.suffix, NO_STATUS)}.) "
    said += "Press h for a hint; save the file to grade it."
    yield Padding(Text(said), (0, 0, 0, 2))


def _wrong(
    rung: Rung, check: CheckResult, width: int, around: int
) -> Iterator[RenderableType]:
    """The first thing to mend."""
    yield Text("")
    yield Padding(Text(check.message), (0, 0, 0, 2))
    if check.diagnosis:
        name = f"{check.mistake.replace('_', ' ')}? " if check.mistake else ""
        said = Text(name, style="bold") + Text(check.diagnosis)
        yield Padding(said, (0, 0, 0, 2))
    yield from _printed(check)
    if check.heat:
        yield Text("")
        for drawn in heat.blocks(check.heat, width - 2):
            yield Text("  ") + drawn
    if check.location:
        yield Text(f"  at {check.location}")
        place = {"file": rung.shown, "sha256": rung.sha256, "root": ROOT}
        found = excerpt(check.location, **place)  # type: ignore[arg-type]
        for line in found.near(around) if found else ():
            mark, style = (">", "bold") if line.marked else (" ", "dim")
            text = Text(f"  {mark}{line.number:>4}  {line.text}", style=style)
            text.no_wrap, text.overflow = True, "ellipsis"
            yield text


def _printed(check: CheckResult | None) -> Iterator[Text]:
    """The file's own output, where it has printed something."""
    for line in own_output.lines(check) if check else ():
        yield Text(f"  {line}", style="dim", no_wrap=True, overflow="ellipsis")


def _speeds(found: RungResult) -> Iterator[Text]:
    for speed in found.speeds:
        if speed.ratio is None:
            continue
        said = _speed_words(speed, speed.ratio.value)
        yield Text(f"  {'speed, ' + speed.direction:<{NAMES}}{said}")


def _speed_words(speed: Speed, ratio: float) -> str:
    """How fast, and what it is worth: the fastest right file of the task earns it."""
    if speed.verdict is not Verdict.PASS:
        return str(speed.verdict)
    if not speed.band or not speed.band.worth:
        return f"{ratio:.2g} times as fast as PyTorch"
    earned, worth = speed.earned * speed.band.worth, speed.band.worth
    return f"{ratio:.2g}x PyTorch, {shown_points(earned)} of {worth:g} points"


def _what_next(view: View) -> tuple[str, str]:
    """Where to go when the file is right."""
    left = [r for r in view.rungs if not view.is_right(r)]
    if not left:
        count = len(view.rungs)
        done = f"All {count} watched files are" if count > 1 else "No other file is"
        rest = "right." if count > 1 else "watched."
        return (
            f"Right. {done} {rest}",
            "Press q to quit; make progress names the next task.",
        )
    after = [r for r in view.rungs[view.at + 1 :] if r in left]
    return "Right. Press n for the next file. Still to do:", (after or left)[0].shown


def _list(view: View, room: int) -> Iterator[Text]:
    """The files around the one that is worked on, with their verdicts."""
    room = max(1, room - 1)
    first = max(0, min(view.at - room // 2, len(view.rungs) - room))
    last = min(first + room, len(view.rungs))
    title = f"files {first + 1} to {last} of {len(view.rungs)}"
    heads = "".join(f"{part:<{WORDS + 1}}" for part in DIRECTIONS)
    yield Text(f"  {title:<{NAMES}} {heads}", style="dim")
    for at in range(first, last):
        rung = view.rungs[at]
        verdicts = view.verdicts.get(rung.id, {})
        text = Text(f"{'>' if at == view.at else ' '} {rung.id:<{NAMES}} ")
        for part in PARTS if rung.exhibit else DIRECTIONS:
            text += _short(verdicts.get(part)) + Text(" ")
        text.no_wrap, text.overflow = True, "ellipsis"
        if at == view.at:
            text.stylize("bold")
        yield text


def _short(word: Verdict | None) -> Text:
    """A verdict in a column."""
    text = verdict(word)
    if word is Verdict.NOT_IMPLEMENTED:
        text = Text("todo", style="bold red")
    text.pad_right(WORDS - len(text))
    return text


def _foot(view: View) -> Iterator[RenderableType]:
    if view.notice:
        yield Text(view.notice, style="yellow")
    elif view.step:
        seconds = time.monotonic() - view.since
        doing = f"{view.step} ... {seconds:.0f} s"
        yield Text(doing, overflow="ellipsis", no_wrap=True)
    else:
        count, took = view.gradings, f"{view.took:.1f} s"
        times = "once" if count == 1 else f"{count} times"
        took = f"graded {times}, the last time in {took}; " if count else ""
        yield Text(f"{took}waiting for a file to be saved", style="dim")
    done, of = view.right(), len(view.rungs)
    full = BAR * done // of
    bar = f"[{'#' * full}{'.' * (BAR - full)}] {done} of {of} files are right"
    yield Text(f"{bar}{view.points}")
    words = [Text(key, style="bold") + Text(f" {word}") for key, word, _ in KEYS]
    keys = Text("  ").join(words)
    keys.overflow, keys.no_wrap = "ellipsis", True
    yield keys
