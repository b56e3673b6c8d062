# SPDX-License-Identifier: MIT
"""`make watch` grades a file each time it is saved, and shows it in a terminal."""

from __future__ import annotations

import os

from rich.console import Console
from rich.live import Live

from grader.course.rungs import ROOT
from grader.errors import GraderError
from grader.options import LAB, Arguments, T
from grader.watch.client import Client
from grader.watch.keyboard import Keyboard
from grader.watch.loop import Loop, in_terminal
from grader.watch.saves import Saves
from grader.watch.screen import Screen

OPTIONS = (T, LAB)


def run(arguments: Arguments) -> int:
    """Until the key q."""
    if not in_terminal():
        raise GraderError(
            "make watch needs a terminal for its screen and keys. To write the "
            "results into a file or a pipe, use make grade T="
        )
    console = Console(highlight=False, no_color="NO_COLOR" in os.environ or None)
    with Saves(ROOT / "labs") as saves, Client() as client:
        loop = Loop(arguments[T], arguments[LAB], client, saves)
        live = Live(console=console, screen=True, auto_refresh=False)
        loop.away, loop.back = live.stop, lambda: live.start(refresh=True)
        with live:
            loop.run(lambda view: live.update(Screen(view), refresh=True), Keyboard())
    return 0
