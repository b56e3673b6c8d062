# SPDX-License-Identifier: MIT
"""Reads the arguments of a command: NAME=value, after make or before it.

make puts each value into the environment without change. After `python -m grader
COMMAND` the same words are allowed. A word without a name is T.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence

from grader.errors import GraderError

NAMES = {
    "T": "a task or rung: a path, an id, or a prefix of ids",
    "LAB": "only labs that begin with these letters, for example 02",
    "CHECK": "grade: forward, backward or card",
    "SEED": "grade, bench, debug, train: repeat a run's random numbers",
    "FRESH": "grade, batch: 1 checks everything again",
    "JOBS": "grade, batch: how many files are graded at the same time",
    "TIMES": "grade: 1 shows the time of each check",
    "STRICT": "grade: 0 ends with status 0 if a table was printed",
    "CASE": "debug: the name of the case, as in the report",
    "DTYPE": "debug, train: f32 or f64",
    "THREAD": "debug, CUDA: x, x,y or x,y,z",
    "BLOCK": "debug, CUDA: x, x,y or x,y,z",
    "NET": "bench: resnet18, mobilenet, unet; train: lenet, separable, transformer",
    "CASES": "bench: only the cases with these names",
    "PARTS": "bench: forward,backward,grad_input,...",
    "THREADS": "bench, train: how many threads",
    "AGAINST": "bench: also these variants of PyTorch: slow2d,channels_last",
    "COUNTS": "bench, lab 04: off leaves out what cusim counts",
    "BUDGET": "bench, lab 04: how many seconds each row of the table takes on a GPU",
    "STEPS": "step: pybind,aten",
    "DATA": "train: the data to learn from",
    "EPOCHS": "train: how many passes over the data",
    "VARIANTS": "train: which layers",
    "DEVICE": "train: cpu or cuda",
    "PROFILE": "train: 1 shows the time of each part of a step",
    "FROM": "update, solution, submission, autograde: an archive",
    "TO": "export, marks: the format; train: a folder; autograde: a file",
    "KEY": "solution: the key of the task",
    "YES": "reset: 1 agrees",
    "COURSE": "handout, submission, batch, marks: the course's file",
    "NAME": "submission: the student",
    "ALL": "submission: 1 grades a folder of archives",
    "SUBMISSIONS": "batch: a folder of submissions, or an archive of all",
    "ROSTER": "batch: a CSV file, id,name",
    "DRY": "batch: 1 only lists the students to grade",
    "ENGINE": "batch: local",
    "LEASE": "batch: seconds until another process takes over the job of a silent "
    "process",
    "WHEN": "submission, batch: the time of the hand-in",
    "PART": "submission, batch: the course's part",
    "DESK": "submission, batch, marks: the folder of the records",
    "HOST": "autograde: gradescope or autolab",
}
LARGEST = 10**12  # of a number: generators of random numbers take no larger seed


@contextlib.contextmanager
def taken(words: Sequence[str]) -> Iterator[None]:
    """The words behind a command, while it runs: they win over the environment.
    Raises GraderError for a name that no command has.
    """
    before = dict(os.environ)
    try:
        for word in words:
            name, value = word.split("=", 1) if "=" in word else ("T", word)
            if name not in NAMES:
                raise GraderError(
                    f"{word!r}: no command has this word, expected a task, or "
                    f"NAME=value with one of {', '.join(NAMES)}"
                )
            os.environ[name] = value
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def text(name: str) -> str:
    """A value as it stands; "" if there is none."""
    return os.environ.get(name, "")


def several(name: str) -> tuple[str, ...]:
    """The words of a value, between commas or blanks."""
    return tuple(text(name).replace(",", " ").split())


def number(name: str, least: int = 0, most: int = LARGEST) -> int | None:
    """A whole number; None if there is none. Raises GraderError for another value."""
    value = text(name).strip()
    digits = value.isdecimal() and len(value) <= len(str(LARGEST))
    if value and not (digits and least <= int(value) <= most):
        raise GraderError(
            f"{name}= is {value!r}, expected a whole number from {least} to {most}"
        )
    return int(value) if value else None


def one_of(name: str, known: Sequence[str]) -> str:
    """One of these words, the first if none is said. Raises GraderError for another."""
    value = text(name).strip() or known[0]
    if value not in known:
        raise GraderError(f"{name}= is {value!r}, expected {' or '.join(known)}")
    return value


def yes(name: str) -> bool:
    """Whether a switch is on: anything but nothing and 0."""
    return text(name).strip() not in ("", "0")
