# SPDX-License-Identifier: MIT
"""`make diff T=` shows the differences between a file and the rung that it builds on.

It compares an exhibit of a bug hunt with the copy that was handed out.
"""

from __future__ import annotations

import difflib

from rich.text import Text

from grader.course.foreign import cleaned
from grader.course.lower_rung import below, body
from grader.course.rungs import Rung
from grader.course.tasks import one_rung
from grader.errors import GraderError
from grader.options import Arguments, T
from grader.report import terminal
from grader.toolchain import given

STYLES = {"+": "green", "-": "red", "@": "cyan"}

OPTIONS = (T,)


def run(arguments: Arguments) -> int:
    """Print it. Raises GraderError where there is nothing to compare with."""
    rung, task = one_rung(arguments[T], "make diff T=03_im2col_cpu/matmul/02")
    other = given.broken(rung) if rung.exhibit else below(rung, task)
    if other is None:
        raise GraderError(f"there is no lower file to compare {rung.id} with")
    old, new = (_lines(file) for file in (other, rung))
    names = other.shown, rung.shown
    found = list(difflib.unified_diff(old, new, *names, lineterm=""))
    for line in found:
        bold = line.startswith(("---", "+++"))
        style = "bold" if bold else STYLES.get(line[:1], "")
        terminal.console.print(Text(cleaned(line), style=style), soft_wrap=True)
    changed = found[2:]
    added, gone = (sum(line.startswith(c) for line in changed) for c in "+-")
    terminal.console.print()
    terminal.say(
        f"{added} lines are new, {gone} were removed; head comments not counted"
    )
    return 0


def _lines(rung: Rung) -> list[str]:
    return body(rung.file.read_text(encoding="utf-8", errors="replace"))
