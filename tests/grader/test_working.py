# SPDX-License-Identifier: MIT
"""A step that takes long has a line in a terminal, and leaves nothing behind."""

from __future__ import annotations

import io
import time

import pytest
from rich.console import Console
from rich.progress import Progress

from grader import working


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Console:
    """A terminal whose text can be read, and no patience."""
    monkeypatch.setattr(working, "PATIENCE", 0.01)
    return Console(file=io.StringIO(), force_terminal=True, width=80)


def text(console: Console) -> str:
    """All that was written, also what was removed again."""
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def wait() -> None:
    """Longer than the patience, and than two refreshes."""
    time.sleep(1.2)


def test_the_innermost_step_is_shown_with_its_seconds(screen: Console) -> None:
    with working.shown(screen, "make grade"), working.on("compile all"):
        with working.on("compile add.c"):
            wait()
        wait()
    assert "compile add.c, 1 s" in text(screen)
    assert "compile all, 1 s" in text(screen)


def test_between_two_steps_the_command_is_shown(screen: Console) -> None:
    with working.shown(screen, "make grade"):
        wait()
    assert "make grade, 1 s" in text(screen)


def test_a_step_that_has_ended_is_removed_before_the_next_print(
    screen: Console,
) -> None:
    with working.shown(screen, "make grade"):
        with working.on("compile add.c"):
            wait()
        screen.print("result")
    shown = text(screen)
    assert "\x1b[2K" in shown[shown.rindex("compile add.c") : shown.index("result")]


def test_a_pipe_gets_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(working, "PATIENCE", 0.01)
    pipe = Console(file=io.StringIO())
    with working.shown(pipe, "make grade"), working.on("compile add.c"):
        wait()
    assert text(pipe) == ""


def test_nothing_is_shown_while_paused_and_the_line_comes_back(
    screen: Console,
) -> None:
    with working.shown(screen, "make grade"):
        with working.paused(), working.on("compile add.c"):
            wait()
        with working.on("compile unfold.c"):
            wait()
    assert "add.c" not in text(screen)
    assert "compile unfold.c, 1 s" in text(screen)


def test_after_a_pause_the_seconds_are_those_of_now(screen: Console) -> None:
    with working.shown(screen, "make bench"):
        wait()
        with working.paused():
            wait()
            wait()
        screen.print("result")
    last = text(screen).rpartition("result")[0].rpartition("make bench, ")[2]
    assert last.startswith(("3 s", "4 s")), last


def test_a_debugger_gets_the_terminal_back_with_its_cursor(screen: Console) -> None:
    with working.shown(screen, "make debug"):
        working.hide()
        assert "\x1b[?25h" in text(screen)


def test_a_bar_shows_the_step_and_otherwise_its_description(screen: Console) -> None:
    with Progress(working.Column(), console=screen) as bar:
        bar.add_task("gradcheck of add", total=1)
        with working.on("compile add.c"):
            wait()
        wait()
    assert "compile add.c, 1 s" in text(screen)
    assert "gradcheck of add, 1 s" in text(screen)
