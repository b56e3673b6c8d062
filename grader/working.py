# SPDX-License-Identifier: MIT
"""Says in a terminal what a command does now, and for how many seconds.

    with working.on("compile cusim, once"):
        make(...)

While `shown` is open, the innermost step that takes long has one line below all others.
Between two steps the line names the command. A pipe gets no line. A bar of progress
shows the step in its own line: `paused` makes room for it. A process without a
terminal hands its steps on: `handed_to`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import ProgressColumn, Task
from rich.text import Text

PATIENCE = 0.7  # seconds: a shorter step is not worth a line


@dataclass(frozen=True, eq=False)
class Step:
    """What the command does, and since when."""

    what: str
    begin: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """How long the step has taken until now."""
        return time.monotonic() - self.begin

    @property
    def is_long(self) -> bool:
        """Whether the step is worth a line."""
        return self.seconds >= PATIENCE

    def __str__(self) -> str:
        return f"{self.what}, {self.seconds:.0f} s"


_steps: list[Step] = []
_lines: list[Live] = []  # at most one
_listeners: list[Callable[[str], None]] = []  # at most one


@contextlib.contextmanager
def on(what: str) -> Iterator[None]:
    """A step of the command, in the words of an instruction: "compile the worker"."""
    step = Step(what)
    _steps.append(step)
    _hand_on(what)
    try:
        yield
    finally:
        _steps.remove(step)
        _hand_on(_steps[-1].what if _steps else "")
        for line in _lines:
            line.refresh()  # before anything else is printed


def handed_to(listener: Callable[[str], None]) -> None:
    """From here on the listener gets each step of this process, and "" after the last
    one. The steps of the process that this one was forked from are not its own.
    """
    _steps.clear()
    _listeners[:] = [listener]


def _hand_on(what: str) -> None:
    for listener in _listeners:
        listener(what)


def now() -> Step | None:
    """The innermost step that takes long; None if there is none."""
    return next((s for s in reversed(_steps) if s.is_long), None)


@contextlib.contextmanager
def shown(console: Console, whole: str) -> Iterator[None]:
    """Show each step of this `whole`, if the console is a terminal."""
    if not console.is_terminal:
        yield
        return
    command = Step(whole)

    def shown_now() -> RenderableType:
        step = now() or command
        return Text(str(step), style="dim") if step.is_long else Group()

    line = Live(
        get_renderable=shown_now,
        console=console,
        refresh_per_second=2,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    with line:
        _lines.append(line)
        try:
            yield
        finally:
            hide()


class Column(ProgressColumn):
    """The step in a bar of progress; between two steps, the bar's description."""

    def __init__(self) -> None:
        super().__init__()
        self._described = Step("")

    def render(self, task: Task) -> Text:
        """With its seconds, once it takes long."""
        if self._described.what != task.description:
            self._described = Step(task.description)
        step = now() or self._described
        return Text(str(step) if step.is_long else step.what)


def hide() -> None:
    """Give the terminal back, for example to a debugger in this process's place."""
    while _lines:
        _lines.pop().stop()


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """Show no line, while something else shows the step."""
    lines = list(_lines)
    hide()
    try:
        yield
    finally:
        for line in lines:
            line.start(refresh=True)  # not the seconds from before
            _lines.append(line)
