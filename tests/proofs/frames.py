# SPDX-License-Identifier: MIT
"""A program and what it shares with its neighbours, as the one file that is graded.

Programs of tests/programs hold what is wrong with them and little else. What is right,
and the same in many, stands once in a frame beside them, which a program names: by
`#include "frame.h"`, in Python by `from frame import *`. A compiler in the sandbox sees
the graded file and common/, no frame: so the frame is put where it is named. In Python
that lets a program define a function of its frame again, also for the frame itself.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from grader.course.rungs import ROOT

_C = re.compile(r'^#include "((?:\.\./c/)?\w+\.(?:h|cuh))"$', re.M)
_PYTHON = re.compile(r"^from (\w+) import \*$", re.M)


def framed(program: Path) -> Path:
    """The whole program, in a file below build/."""
    whole = ROOT / "build" / program.parent.relative_to(ROOT / "tests") / program.name
    text = _joined(program)
    if not whole.exists() or whole.read_text() != text:
        whole.parent.mkdir(parents=True, exist_ok=True)
        fresh = whole.with_suffix(f".{os.getpid()}")
        fresh.write_text(text)
        fresh.replace(whole)
    return whole


def _joined(file: Path) -> str:
    """A file's text, each name of a file beside it replaced by that file's text."""
    pattern, ending = (_PYTHON, ".py") if file.suffix == ".py" else (_C, "")

    def put(match: re.Match[str]) -> str:
        frame = file.parent / (match[1] + ending)
        return _joined(frame).rstrip("\n") if frame.exists() else match[0]

    return pattern.sub(put, file.read_text())
