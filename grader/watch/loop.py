# SPDX-License-Identifier: MIT
"""Runs the loop of `make watch`: it takes saves, keys and answers, and shows a view."""

from __future__ import annotations

import select
import shlex
import subprocess
import sys
import webbrowser
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from multiprocessing.connection import Connection
from pathlib import Path

from grader.course import tasks
from grader.course.rungs import ROOT, Rung, Selection
from grader.engine import results
from grader.engine.hints import one_more
from grader.errors import GraderError
from grader.report import html
from grader.watch.client import Client
from grader.watch.keyboard import END, ESCAPE, Keyboard
from grader.watch.messages import Abandoned, Ended, Graded, Heard, Refused, Step, Told
from grader.watch.saves import Saves
from grader.watch.view import HELP, HINTS, LIST, View

TICK = 0.25  # seconds between two looks at the clock while something is being done
QUIT = ("q", END)


class Loop:
    """What is watched, and what is done about it."""

    def __init__(
        self, wanted: str | None, lab: str | None, client: Client, saves: Saves
    ) -> None:
        self.wanted, self.lab = wanted, lab
        self.client, self.saves = client, saves
        self.view = _view(self._select())
        self.view.to(self.view.first_to_do(self._remember()))
        self._keys: dict[str, Callable[[], None]] = {
            "n": lambda: self._move(1),
            "p": lambda: self._move(-1),
            "h": self._hint,
            "r": self._all,
            "s": lambda: self._grade(fresh=True),
            "d": self._debug,
            "l": lambda: self._panel(LIST),
            "o": self._report,
            "?": lambda: self._panel(HELP),
            ESCAPE: lambda: self._panel(""),
        }
        self.keyboard: Keyboard | None = None
        self.away: Callable[[], None] = lambda: None  # gives the terminal back
        self.back: Callable[[], None] = lambda: None

    def run(self, draw: Callable[[View], None], keyboard: Keyboard | None) -> None:
        """Until a key or the end of the terminal says stop."""
        self.keyboard = keyboard
        with keyboard or nullcontext():
            self._grade()
            while True:
                draw(self.view)
                wait = TICK if self.view.step else None
                sources: list[int | Connection] = [self.saves.pipe, self.client.pipe]
                sources += [keyboard.number] if keyboard else []
                ready = select.select(sources, [], [], wait)[0]
                if self.saves.pipe in ready:
                    self._saved(self.saves.take())
                if self.client.pipe in ready:
                    self._show_message(self.client.receive())
                if self.client.late():
                    self.view.notice = (
                        "the check did not stop in time; its process was replaced"
                    )
                if keyboard and keyboard.number in ready:
                    for key in keyboard.take():
                        if key in QUIT:
                            return
                        self.view.notice = ""  # of an earlier key
                        self._keys.get(key, lambda: None)()

    # ---- saves -----------------------------------------------------------------------

    def _saved(self, paths: Iterable[Path]) -> None:
        """Grade what was saved; of several files the one that is worked on, or else the
        newest.
        """
        paths = list(paths)
        try:
            selection = self._select()
        except GraderError as error:
            self.view.notice = str(error)
            return
        rungs = _rungs(selection)
        if not rungs:
            self.view.notice = "no watched file is left: save a file"
            return
        here = self.view.rung
        if here.id not in [rung.id for rung in rungs]:
            gone = f"{here.shown} was removed: make watch now shows another file"
            self.view = self.view.after(selection.tasks, rungs)
            self._grade()
            self.view.notice = gone
            return
        self.view = self.view.after(selection.tasks, rungs)
        saved = [i for path in paths for i, r in enumerate(rungs) if _is_of(r, path)]
        if saved and self.view.at not in saved:
            self.view.to(saved[-1])
        elif not saved and not any(path.suffix == ".toml" for path in paths):
            return
        self.view.notice = ""
        self._grade()

    def _select(self) -> Selection:
        tasks.all_tasks.cache_clear()
        return tasks.select(self.wanted, self.lab)

    def _grade(self, *, fresh: bool = False) -> None:
        view = self.view
        view.panel = ""
        view.checks, view.result = [], None
        view.begin("read the files" if view.took else view.step or "read the files")
        self.client.ask(view.rung.id, fresh=fresh)

    # ---- answers ---------------------------------------------------------------------

    def _show_message(self, message: Told | None) -> None:
        view = self.view
        if message is None:
            view.step = "" if not self.client.busy else view.step
            view.notice = (
                "the grading process ended, and a new process was started: save the "
                "file again"
            )
            return
        if message.number != self.client.number:
            if message.number == 0 and isinstance(message, Refused):
                raise GraderError(message.sentence)
            return  # of a request that nobody wants any more
        if isinstance(message, Step):
            view.step = f"{message.rung}  {message.words}"
        elif isinstance(message, Heard) and message.rung == view.rung.id:
            view.hear(message.checks)
        elif isinstance(message, Ended):
            for found in message.result.rungs:
                view.learn(found)
        elif isinstance(message, Graded):
            self._graded(message)
        elif isinstance(message, Refused):
            view.notice, view.step = message.sentence, ""
            self.client.ended(message)
        elif isinstance(message, Abandoned):
            view.step = ""
            self.client.ended(message)

    def _graded(self, message: Graded) -> None:
        view = self.view
        for result in message.results:
            for found in result.rungs:
                view.learn(found)
        view.points = view.standing(message.points)
        view.step, view.took = "", message.seconds
        view.gradings += 1
        self.client.ended(message)

    def _remember(self) -> dict[str, float]:
        """What earlier gradings found out about files as they are now. Returns the
        points of each task.
        """
        recorded = results.read()
        now = {rung.id: rung.sha256 for rung in self.view.rungs}
        for task in recorded.tasks if recorded else ():
            for found in task.rungs:
                if now.get(found.rung.id) == found.rung.sha256:
                    self.view.learn(found)
        return (
            {task.task.id: task.points for task in recorded.tasks} if recorded else {}
        )

    # ---- keys ------------------------------------------------------------------------

    def _move(self, by: int) -> None:
        listed = self.view.panel == LIST
        self.view.to(self.view.at + by)
        self._grade()
        self.view.panel = LIST if listed else ""

    def _panel(self, name: str) -> None:
        self.view.panel = "" if self.view.panel == name else name

    def _hint(self) -> None:
        if self.view.panel == HINTS and not self.view.more_hints:
            self.view.panel = ""
            return
        try:
            self.view.hints = one_more(self.view.hinted)
        except GraderError as error:
            self.view.notice = str(error)
            return
        self.view.panel = HINTS

    def _all(self) -> None:
        self.view.panel = LIST
        self.view.begin("read the files")
        self.client.ask(self.wanted or self.lab or "")

    def _debug(self) -> None:
        """`make debug` of the failing case, in this terminal."""
        commands = [c.replay for c in self.view.checks if c.replay]
        if not commands or not self.keyboard:
            self.view.notice = "no case has failed: there is nothing to debug"
            return
        self.away()
        with self.keyboard.lent():
            print(commands[0], flush=True)
            words = [*shlex.split(commands[0]), f"PYTHON={sys.executable}"]
            subprocess.run(words, cwd=ROOT, check=False)
            input("press Enter to return to make watch ")
        self.back()

    def _report(self) -> None:
        page = html.path()
        shown = results.near(page)
        if not page.exists():
            self.view.notice = "there is no report yet: the first grading makes it"
        elif webbrowser.open(page.as_uri()):
            self.view.notice = f"opened {shown}"
        else:
            self.view.notice = f"this machine has no browser: open {shown} in a browser"


def _view(selection: Selection) -> View:
    rungs = _rungs(selection)
    if not rungs:
        raise GraderError(
            "there is no file to watch: write a file, or choose another T="
        )
    return View(selection.tasks, rungs)


def _rungs(selection: Selection) -> tuple[Rung, ...]:
    return tuple(
        rung
        for task in selection.tasks
        for rung in task.rungs
        if rung.id in selection.rungs
    )


def _is_of(rung: Rung, path: Path) -> bool:
    """Whether a file belongs to a rung; of lab 05 any of its package may."""
    if path in (rung.file, *rung.also):
        return True
    return bool(rung.step) and path.stem == rung.file.stem and "csrc" in path.parts


def in_terminal() -> bool:
    """Whether there is one to draw on and to read keys from."""
    return sys.stdin.isatty() and sys.stdout.isatty()
