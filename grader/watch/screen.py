# SPDX-License-Identifier: MIT
"""A view as a screen of text: the file's checks, what is wrong, where it stands."""

from __future__ import annotations

import time
from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.segment import Segment
from rich.text import Text
from signatures import DIRECTIONS

from grader.checks.check_result import CheckResult
from grader.course.exhibits import PARTS
from grader.course.rungs import ROOT, Rung
from grader.engine.score import RungResult
from grader.report.check_words import check_words
from grader.report.failure import heat
from grader.report.failure.excerpt import excerpt
from grader.verdicts import Verdict
from grader.watch.view import HINTS, LIST, View

KEYS = (
    ("n", "next"),
    ("p", "previous"),
    ("h", "hint"),
    ("r", "all"),
    ("s", "speed"),
    ("d", "debug"),
    ("l", "list"),
    ("o", "report"),
    ("q", "quit"),
)
NUMBERS = ("forward", "gradient")  # checks of which "not written yet" is all
BAR = 20  # characters of the bar of files that are right


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
        body = lines(_body(self.view, room, options.max_width))
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


def _body(view: View, room: int, width: int) -> Iterator[RenderableType]:
    if view.panel == LIST:
        yield from _list(view, room)
        return
    if view.panel == HINTS:
        for number, text in enumerate(view.hints, start=1):
            yield Text(f"hint {number} of {len(view.hinted.hints)}: {text}")
            yield Text("")
        return
    for check in view.checks:
        yield _check(check)
    if view.result:
        yield from _speeds(view.result)
    bad = next((c for c in view.checks if c.verdict is not Verdict.PASS), None)
    if bad:
        if bad.verdict is Verdict.NOT_IMPLEMENTED and bad.name in NUMBERS:
            yield from _to_write(view)
        else:
            yield from _wrong(view.rung, bad, width)
    elif view.result and view.result.checks:
        yield Text("")
        yield Text(_what_next(view))


def _check(check: CheckResult) -> Text:
    """One line: which check, of what, what came of it."""
    cases = f"  {check.cases} case{'s' * (check.cases > 1)}" if check.cases else ""
    name = Text(f"  {check_words(check):<46}")
    return name + verdict(check.verdict) + Text(cases, style="dim")


def _to_write(view: View) -> Iterator[Text]:
    """What a file lacks, where nothing in it is wrong."""
    no = Verdict.NOT_IMPLEMENTED
    lacking = dict.fromkeys(c.direction for c in view.checks if c.verdict is no)
    yield Text("")
    what = " and ".join(lacking)
    yield Text(f"  To write: {what}. Key h shows a hint; saving the file grades it.")


def _wrong(rung: Rung, check: CheckResult, width: int) -> Iterator[RenderableType]:
    """The first thing to mend."""
    yield Text("")
    yield Padding(Text(check.message), (0, 0, 0, 2))
    if check.diagnosis:
        name = f"{check.mistake.replace('_', ' ')}? " if check.mistake else ""
        said = Text(name, style="bold") + Text(check.diagnosis)
        yield Padding(said, (0, 0, 0, 2))
    if check.heat:
        yield Text("")
        for drawn in heat.blocks(check.heat, width - 2):
            yield Text("  ") + drawn
    if check.location:
        yield Text(f"  at {check.location}")
        place = {"file": rung.shown, "sha256": rung.sha256, "root": ROOT}
        found = excerpt(check.location, **place)  # type: ignore[arg-type]
        for line in found.lines if found else ():
            mark, style = (">", "bold") if line.marked else (" ", "dim")
            text = Text(f"  {mark}{line.number:>4}  {line.text}", style=style)
            text.no_wrap, text.overflow = True, "ellipsis"
            yield text


def _speeds(found: RungResult) -> Iterator[Text]:
    for speed in found.speeds:
        if speed.ratio is None:
            continue
        value = f"{speed.ratio.value:.3g} times as fast as PyTorch"
        said = value if speed.verdict is Verdict.PASS else str(speed.verdict)
        yield Text(f"  {'speed, ' + speed.direction:<46}{said}")


def _what_next(view: View) -> str:
    """Where to go when the file is right."""
    left = [r for r in view.rungs if not view.is_right(r)]
    if not left:
        return f"  Right, and so are all {len(view.rungs)} files that are watched."
    after = [r for r in view.rungs[view.at + 1 :] if r in left]
    return f"  Right. Key n: the next file. Still to do: {(after or left)[0].shown}"


def _list(view: View, room: int) -> Iterator[Text]:
    """The files around the one that is worked on, with their verdicts."""
    first = max(0, min(view.at - room // 2, len(view.rungs) - room))
    for at in range(first, min(first + room, len(view.rungs))):
        rung = view.rungs[at]
        known = view.verdicts.get(rung.id, {})
        text = Text(f"{'>' if at == view.at else ' '} {rung.id:<46}")
        for part in PARTS if rung.exhibit else DIRECTIONS:
            text += verdict(known.get(part)) + Text(" ")
        text.no_wrap, text.overflow = True, "ellipsis"
        if at == view.at:
            text.stylize("bold")
        yield text


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
    keys = Text(overflow="ellipsis", no_wrap=True)
    for key, word in KEYS:
        keys += Text(key, style="bold") + Text(f" {word}  ")
    yield keys
