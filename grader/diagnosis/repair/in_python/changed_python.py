# SPDX-License-Identifier: MIT
"""Loads a changed file of lab 01 into the Python worker, one change at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from grader.checks import outcomes
from grader.checks.subject import LOAD_LIMIT, Subject
from grader.course.rungs import Rung
from grader.diagnosis.repair.in_python.python_edits import edited_texts
from grader.diagnosis.repair.small_change import Edit
from grader.runner.supervisor.call import Call
from grader.runner.supervisor.session import Outcome, Worker


@dataclass
class ChangedPython:
    """A subject with the texts of its file; number 0 is the file as it is."""

    subject: Subject
    texts: list[str]
    edits: list[Edit]
    _worker: Worker | None = field(default=None, init=False)  # that was last told
    _loaded: int = field(default=0, init=False)  # what it holds

    @property
    def order(self) -> Sequence[int]:
        """The numbers of the changes, the likeliest first: as they are listed."""
        return range(1, len(self.texts))

    def choose(self, call: Call | None, number: int) -> bool:
        """Let the worker load a text. False if that text cannot be loaded."""
        worker = self.subject.worker("")
        if worker is not self._worker:  # a new one holds the file as it is
            self._worker, self._loaded = worker, 0
        if number == self._loaded:
            return True
        text = self.subject.header() + b"\n" + self.texts[number].encode()
        self._loaded = number
        outcome = worker.load(text, op=self.subject.number, deadline=LOAD_LIMIT)
        return outcome is Outcome.RETURNED and not outcomes.of_status(worker, "")

    def restore(self) -> None:
        """Let the worker load the file as it is; a new worker would do so itself."""
        if self._worker and not self._worker.ended:
            self.choose(None, 0)


@contextmanager
def changed(
    rung: Rung, subject: Subject, direction: str, dtype: str
) -> Iterator[ChangedPython]:
    """The changes of a file; in the end its worker holds the file as it is."""
    text = rung.file.read_text(encoding="utf-8", errors="replace")
    own = rung.file.suffix == ".py" and not subject.package
    made = edited_texts(text, direction) if own else []
    texts = [text, *(changed_text for _, changed_text in made)]
    found = ChangedPython(subject, texts, [edit for edit, _ in made])
    try:
        yield found
    finally:
        found.restore()
