# SPDX-License-Identifier: MIT
"""`python -m grader COMMAND` runs one command: each is a module of this folder."""

from __future__ import annotations

import contextlib
import importlib
import io
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType

from grader import working
from grader.commands import said
from grader.errors import GraderError

USAGE_ERROR = 2
INTERRUPTED = 130
OWN_SCREEN = ("watch", "batch_worker")
COMMANDS = {
    "grade": "build, check and score; write results.json and the report",
    "batch": "grade what a class handed in, side by side; go on after an end",
    "batch_worker": "grade jobs from FROM=folder; batch starts one on each core",
    "bench": "time every rung that is selected on every speed case",
    "watch": "grade a file each time it is saved, and show the result",
    "build": "compile everything that is selected, and show the first errors",
    "debug": "stop inside one case of one rung, with its inputs on disk",
    "diff": "show the changes of a file against the rung that it builds on",
    "hint": "show a task's hints, one more with each call",
    "carry": "collect what the grader needs beside torch, in a folder to copy",
    "doctor": "show what this machine has, and what missing things would do",
    "editor": "write compile_commands.json for clangd",
    "autograde": "grade a submission for Gradescope or Autolab, in their container",
    "export": "the last results as JUnit, Gradescope, Autolab or GitHub read them",
    "handout": "derive what students get: starters, given objects, archives",
    "submission": "grade what a student handed in, from a clean copy, and keep it",
    "marks": "everybody's points in a course, and files for gradebooks",
    "profile": "where the time of a file goes, and what limits it",
    "progress": "points by lab and over time, and what is next",
    "report": "make the HTML report from the last results.json again",
    "reset": "put a file back as the handout had it; a copy is kept",
    "step": "build lab 05's first steps, STEPS=pybind,aten, where Python finds them",
    "solution": "a task's reference, once the instructor has released its KEY",
    "update": "bring started work up to a newer handout, FROM=archive",
    "tables": "put the measured tables into the READMEs again",
}


def usage() -> str:
    """Commands, and the words that they take."""
    named = {f"{name}=": meaning for name, meaning in said.NAMES.items()}
    lists = [[f"  {x:12} {y}" for x, y in known.items()] for known in (COMMANDS, named)]
    first = "usage: python -m grader COMMAND [TASK] [NAME=value ...]"
    return "\n".join([first, "", *lists[0], "", *lists[1]])


def _terminated(signum: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@contextlib.contextmanager
def _shown(command: str) -> Iterator[None]:
    """Say in the terminal what takes long, unless a command has its own screen."""
    if command in OWN_SCREEN:
        yield
        return
    from grader.report import terminal

    with working.shown(terminal.console, f"make {command}"):
        yield


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; whatever goes wrong ends in one sentence."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what a terminal cannot show
            stream.reconfigure(errors="backslashreplace")
    command, *words = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if command not in COMMANDS or {"-h", "--help"} & set(words):
        print(usage())
        return 0 if "--help" in (command, *words) else USAGE_ERROR
    signal.signal(signal.SIGTERM, _terminated)
    signal.signal(signal.SIGHUP, _terminated)
    try:
        with said.taken(words), _shown(command):
            with working.on("load PyTorch"):
                module = importlib.import_module(f"grader.commands.{command}")
            status = module.run()
    except GraderError as error:
        from grader.report import terminal

        terminal.complain(str(error))
        return USAGE_ERROR
    except OSError as error:
        from grader.engine import results
        from grader.report import terminal

        where = Path(error.filename) if error.filename else results.folder()
        terminal.complain(results.explain(error, where))
        return USAGE_ERROR
    except KeyboardInterrupt:
        from grader.report import terminal

        terminal.complain("interrupted; the results of the last whole run are kept")
        return INTERRUPTED
    assert isinstance(status, int)
    return status
