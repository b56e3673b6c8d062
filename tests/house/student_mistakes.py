# SPDX-License-Identifier: MIT
"""The wrong submissions of tests/programs/student_mistakes: edits of reference rungs.

They were written before any of them was graded, by somebody who had not seen the
grader's known mistakes: what the grader says about them is judged against `what`.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from tests import PROGRAMS, ROOT

FOLDER = PROGRAMS / "student_mistakes"


class EditError(Exception):
    """An edit does not fit its rung: change the edit, not what the entry says."""


@dataclass(frozen=True)
class Mistake:
    """One wrong submission."""

    id: str
    rung: str  # the reference file that is edited, from the root
    kind: str  # listed or unusual
    direction: str  # forward, backward or both
    what: str  # the truth, in one sentence
    edit: list[list[str | int]]  # old text, new text, how often (1 if not said)

    @property
    def path(self) -> Path:
        """The reference file."""
        return ROOT / self.rung

    def text(self) -> str:
        """The submission: the rung after all edits."""
        text = self.path.read_text()
        for old, new, *count in self.edit:
            times = count[0] if count else 1
            if text.count(str(old)) != times:
                raise EditError(f"{self.id}: not {times} times in {self.rung}: {old}")
            text = text.replace(str(old), str(new))
        return text


def student_mistakes(folder: Path = FOLDER) -> list[Mistake]:
    """All of a folder, in the order of the files."""
    return [
        Mistake(**entry)
        for file in sorted(folder.glob("*.toml"))
        for entry in tomllib.loads(file.read_text())["mistake"]
    ]
