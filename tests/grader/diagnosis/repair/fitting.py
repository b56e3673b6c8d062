# SPDX-License-Identifier: MIT
"""Finds the edits of a switchable file with which it computes what the reference does.

Edits may crash or never end. So a child process tries them, and another one goes on
where a child has ended.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.diagnosis.repair.in_c.c_edits import Switchable
from tests import ROOT
from tests.grader.diagnosis.repair import drawn_calls

COMMAND = (
    *("gcc", "-O0", "-std=c11", "-w", "-fopenmp"),
    *("-fPIC", "-shared", "-DREAL_F64"),
)
PATIENCE = 1.0  # seconds for all calls of an edit
COUNT = 24  # calls
LAB = ROOT / "labs" / "02_naive_c"


def build(text: str, beside: Path, library: Path) -> str:
    """Compiles a file as if it stood in a folder. Returns the compiler's errors."""
    source = library.with_suffix(".c")
    source.write_text(text)
    folders = ["-I", str(ROOT / "common"), "-I", str(beside)]
    command = [*COMMAND, *folders, "-o", str(library), str(source), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stderr if done.returncode else ""


def build_switchable(made: Switchable, beside: Path, library: Path) -> Switchable:
    """Compiles it, without the edits that the compiler refuses."""
    for _ in range(3):
        errors = build(made.text, beside, library)
        if not errors:
            return made
        fewer = made.without(errors)
        assert fewer, errors[:2000]
        made = fewer
    raise AssertionError(errors[:2000])


def _reference(operator: str, direction: str, folder: Path) -> ctypes.CDLL:
    """The first file of lab 02 with a direction of an operator, built."""
    name = f"{operator}_{direction}("
    file = next(f for f in sorted(LAB.glob(f"{operator}/*.c")) if name in f.read_text())
    library = folder / f"{file.stem}.so"
    if not library.exists():
        assert not build(file.read_text(), file.parent, library)
    return ctypes.CDLL(str(library))


@dataclass
class Trial:
    """Drawn calls of an operator, and what the reference computes in them."""

    calls: list[drawn_calls.Call]
    expected: list[Any]

    @classmethod
    def drawn(cls, operator: str, direction: str, folder: Path) -> Trial:
        """Draws calls, and makes them in references that it builds in a folder."""
        forward, right = (
            _reference(operator, d, folder) for d in ("forward", direction)
        )
        drawn = drawn_calls.calls(operator, direction, forward, COUNT)
        return cls(drawn, [call.made(right) for call in drawn])

    def fits(self, library: ctypes.CDLL) -> bool:
        """Whether a library computes what the reference does, in every call."""
        return all(
            drawn_calls.same(expected, call.made(library))
            for call, expected in zip(self.calls, self.expected)
        )

    def digest(self) -> int:
        """A number for all that the calls read and all that is expected."""
        arrays = [array for call in self.calls for array in call.inputs]
        arrays += [array for _, results in self.expected for array in results]
        return hash(tuple(a.tobytes() for a in arrays if a is not None))

    def fitting(self, library: Path, numbers: Sequence[int]) -> set[int]:
        """The numbers of the edits with which every case is right."""
        found: set[int] = set()
        waiting, alone = list(numbers), False
        while waiting:
            started, right = self._child(library, waiting)
            found |= right
            crashed = started < len(waiting)
            if crashed and started > 0 and not alone:
                waiting, alone = waiting[started:], True  # perhaps it only found ruins
            else:
                waiting, alone = waiting[started + 1 :], False
        return found

    def _child(self, library: Path, numbers: list[int]) -> tuple[int, set[int]]:
        """How many edits a child has finished, and which of them fit."""
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            try:
                self._try_all(library, numbers, write)
            finally:
                os._exit(0)  # never back to the test, whatever an edit has broken
        os.close(write)
        with os.fdopen(read) as lines:
            said = lines.read().split()
        os.waitpid(child, 0)
        right = {numbers[i] for i, word in enumerate(said) if word == "right"}
        return len(said), right

    def _try_all(self, library: Path, numbers: list[int], write: int) -> None:
        """Tries edits in the child, until one ends it."""
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        for number in (signal.SIGSEGV, signal.SIGFPE, signal.SIGABRT, signal.SIGBUS):
            signal.signal(number, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        loaded = ctypes.CDLL(str(library))
        chosen = ctypes.c_int.in_dll(loaded, "convlab_edit")
        whole = self.digest()
        for number in numbers:
            signal.setitimer(signal.ITIMER_REAL, PATIENCE)
            chosen.value = number
            word = b"right\n" if self.fits(loaded) else b"wrong\n"
            if self.digest() != whole:
                break  # an edit wrote to memory of others: another child goes on
            os.write(write, word)
