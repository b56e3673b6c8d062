# SPDX-License-Identifier: MIT
"""`python -m grader COMMAND` runs one command: each is a module of this folder."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import re
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from grader import options, working
from grader.errors import INTERRUPTED, GraderError
from grader.options import Arguments, Option

USAGE_ERROR = 2
OWN_SCREEN = ("watch", "batch_worker")
TYPED = "CONVLAB_TYPED"  # a variable of make: the names that a person typed behind it
# variables behind make that the Makefile, compilers, PyTorch or the grader itself reads
_OF_TOOLS = re.compile(
    "PYTHON|ISA|CC|CXX|NVCC|OBJCOPY|MAX_JOBS|SPEED|SHELL|PATH|TMPDIR|CI|SBATCH|V"
    "|SOURCE_DATE_EPOCH|(CONVLAB|CUDA|OMP|MKL|LD|MAKE)_?[A-Z_]*"
)
_DECLARED = re.compile(r'Option\(\s*"(\w+)",')
COMMANDS = {
    "grade": "build, check and score; write results.json and the report",
    "batch": "grade the submissions of a class in parallel; continue an interrupted "
    "run",
    "batch_worker": "grade jobs from FROM=folder; batch starts this on each core",
    "bench": "time every selected rung on every speed case",
    "watch": "grade a file each time it is saved, and show the result",
    "build": "compile everything that is selected, and show the first errors",
    "debug": "stop inside one case of one rung, with its inputs on disk",
    "diff": "show the changes of a file against the rung that it builds on",
    "hint": "show a task's hints, one more with each call",
    "carry": "collect the packages that the grader needs besides torch, in one folder",
    "doctor": "show what this machine has, and what you lose without a missing tool",
    "editor": "write compile_commands.json for clangd",
    "autograde": "grade a submission for Gradescope or Autolab, in their container",
    "export": "write the last results for JUnit, Gradescope, Autolab or GitHub",
    "handout": "make the handout for students: starters, given objects, archives",
    "submission": "grade a student's submission in a clean copy, and keep the result",
    "marks": "write the points of all students, files for gradebooks, pages to return",
    "similar": "show files of different students that have much in common",
    "profile": "show where a file spends its time, and what limits its speed",
    "progress": "show points by lab and over time, and the next step",
    "report": "make the HTML report from the last results.json again",
    "reset": "restore a file from the handout, and keep your file as a copy",
    "step": "build lab 05's first steps, STEPS=pybind,aten, where Python finds them",
    "solution": "open a task's solution with the KEY that the instructor has released",
    "update": "update your files to a newer handout, FROM=archive",
    "tables": "write the measured tables into the READMEs again",
}


def usage(command: str = "") -> str:
    """The commands; or one of them, and its options."""
    if command not in COMMANDS:
        lines = [f"  {name:12} {meaning}" for name, meaning in COMMANDS.items()]
        more = "python -m grader COMMAND --help shows what NAME may be"
        first = "usage: python -m grader COMMAND [TASK] [NAME=value ...]"
        return "\n".join([first, "", *lines, "", more])
    lines = [f"  {one.name + '=':12} {one.meaning}" for one in options_of(command)]
    first = f"usage: python -m grader {command} [NAME=value ...]"
    return "\n".join([first, "", COMMANDS[command], "", *lines])


def options_of(command: str) -> Sequence[Option[Any]]:
    """The options that a command declares."""
    with working.on("load PyTorch"):
        module = importlib.import_module(f"grader.commands.{command}")
    return getattr(module, "OPTIONS", ())


def declared() -> set[str]:
    """The names of all options, read from the sources: importing every command takes
    seconds.
    """
    files = [Path(options.__file__), *Path(__file__).parent.glob("*.py")]
    texts = (file.read_text(encoding="utf-8") for file in files)
    return {name for text in texts for name in _DECLARED.findall(text)}


def owners(name: str) -> list[str]:
    """The commands that have an option."""
    if name not in declared():
        return []
    return [c for c in COMMANDS if name in (one.name for one in options_of(c))]


def _verify(command: str, words: Iterable[str], typed: Iterable[str]) -> None:
    """Raises GraderError for a word behind the command, or a variable behind make, that
    is neither its option nor a variable of our tools.
    """
    mine = [one.name for one in options_of(command)]
    strange = list(words)
    strange += [name for name in typed if not _OF_TOOLS.fullmatch(name)]
    strange = [name for name in strange if name not in mine]
    for name in strange:
        others = ", ".join(owners(name))
        raise GraderError(
            f"{command} does not take {f'{name}='!r}, it takes "
            f"{', '.join(f'{one}=' for one in mine) or 'no options'}"
            + (f"; {name}= belongs to {others}" if others else "")
        )


def run(command: str, words: Sequence[str] = ()) -> int:
    """Run a command with the words behind it: they win over the environment. Raises
    GraderError.
    """
    named, typed = options.by_name(words), os.environ.pop(TYPED, "").split()
    mine = options_of(command)
    _verify(command, named, typed)
    arguments = Arguments(mine, {**os.environ, **named})
    module = importlib.import_module(f"grader.commands.{command}")
    status = module.run(arguments) if mine else module.run()
    assert isinstance(status, int)
    return status


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
        print(usage(command))
        return 0 if "--help" in (command, *words) else USAGE_ERROR
    signal.signal(signal.SIGTERM, _terminated)
    signal.signal(signal.SIGHUP, _terminated)
    try:
        with _shown(command):
            return run(command, words)
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
