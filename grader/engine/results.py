# SPDX-License-Identifier: MIT
"""Reads and writes results.json, the one source of all reports.

It is written as a whole or not at all. Its contents are records (score.py); as_json.py
writes them as JSON and reads them back.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from grader.course import renamed
from grader.engine.answers import as_json, keys
from grader.engine.answers.ledger import rename_unreadable
from grader.engine.answers.schema import misfit
from grader.engine.score import Results
from grader.errors import GraderError, of_machine
from grader.toolchain import gpu_probe, isa, sandbox
from grader.toolchain.make import build_folder, first_line, named_compiler

NAME = "results.json"
SCHEMA_FILE = Path(__file__).with_name("results.schema.json")


def folder() -> Path:
    """Where results are kept."""
    return build_folder() / "grade"


def path() -> Path:
    """The result file."""
    return folder() / NAME


@contextmanager
def lock() -> Iterator[None]:
    """One grading at a time in one tree. Raises GraderError if another one runs."""
    make_folder(folder())
    with (folder() / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise GraderError(
                "another grading is running in this folder. Wait until it ends, or "
                "name another folder for this grading with CONVLAB_BUILD="
            ) from error
        yield


def make_folder(wanted: Path) -> None:
    """Make a folder, or say in a sentence why that cannot be done."""
    try:
        wanted.mkdir(parents=True, exist_ok=True)
        probe = wanted / f".write-{os.getpid()}"
        probe.write_text("x")
        probe.unlink()
    except OSError as error:
        raise GraderError(explain(error, wanted)) from error


def explain(error: OSError, wanted: Path) -> str:
    """One sentence for an error of the file system."""
    if error.errno == errno.ENOSPC:
        return f"the disk is full: cannot write to {wanted}; make room and try again"
    reason = (error.strerror or str(error)).lower()
    in_the_way = error.errno in (errno.ENOTDIR, errno.EISDIR)
    if not in_the_way and not of_machine(error):
        return f"{wanted}: {reason}; run the command again"
    return (
        f"cannot write to {wanted}: {reason}; fix its permissions, or name another "
        "folder with CONVLAB_BUILD="
    )


def near(wanted: Path) -> str:
    """A path as people see it from where they are."""
    return os.path.relpath(wanted)


def environment() -> dict[str, Any]:
    """What the numbers depend on: machine, compiler, PyTorch, sandbox."""
    return {
        "cpu": isa.processor(),
        "isa": isa.name(),
        "compiler": first_line([*named_compiler().split(), "--version"]),
        "torch": keys.version("torch"),
        "python": platform.python_version(),
        "cuda": card.words if (card := gpu_probe.card()) else None,
        "sandbox": sandbox.level(),
        "threads": 1,
    }


def read() -> Results | None:
    """What the result file says, if one of this version is there and not damaged."""
    return _read()[0]


def refusal() -> str:
    """Why a result file that is there cannot be read; "" otherwise."""
    return _read()[1]


def _read() -> tuple[Results | None, str]:
    """What the result file says, or why what is there cannot be read."""
    try:
        found = json.loads(path().read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None, ""
    except (OSError, ValueError, RecursionError) as error:
        return None, str(error) or type(error).__name__
    if wrong := unlike(found):
        return None, wrong
    return as_json.results(renamed.results(found)), ""


def unlike(found: Any) -> str:
    """Where the contents of a result file are not what this version writes, or ""."""
    return misfit(found, json.loads(SCHEMA_FILE.read_text(encoding="utf-8")))


def set_aside() -> str:
    """A result file that cannot be read gets another name, so that no run overwrites
    it. What to tell of it; "" if there is none.
    """
    if not (reason := refusal()):
        return ""
    try:
        kept = rename_unreadable(path())
    except OSError as error:
        raise GraderError(explain(error, folder())) from error
    return (
        f"{near(path())} cannot be read ({reason}). It is kept as {near(kept)}, and "
        "the results of this run go to a new file"
    )


def write(results: Results, name: str = NAME) -> None:
    """Replace the result file, or another one beside it, in one step. Raises
    GraderError if that is impossible.
    """
    whole = folder() / name
    new = whole.with_suffix(f".{os.getpid()}.new")
    try:
        with new.open("w", encoding="utf-8") as file:
            json.dump(as_json.results_entry(results), file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        new.replace(whole)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise GraderError(explain(error, folder())) from error
