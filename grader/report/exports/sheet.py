# SPDX-License-Identifier: MIT
"""What an export tells of a grading: points and plain sentences, a row a task.

All exports are written from this sheet, so that what is hidden is left out in one
place: a case whose name begins with hidden_ is told by its verdict and, if the mistake
is a known one, its name. A tree with hidden seeds tells no command that repeats a run,
and nothing that holds such a number.
"""

from __future__ import annotations

from dataclasses import dataclass

from grader.checks.check_result import IN_FULL, CheckResult
from grader.course.foreign import cleaned
from grader.course.offered.course_file import HIDDEN
from grader.engine.score import Results, RungResult, TaskResult, shown_points
from grader.verdicts import Verdict

Seeds = tuple[int, ...]
NOT_TOLD = "a case that is not shown to students"


@dataclass(frozen=True)
class Remark:
    """A check that did not pass, as students may read it."""

    task: str
    rung: str
    file: str
    line: int  # 0: it is about the whole file
    check: str  # "forward in float32"
    verdict: Verdict
    sentence: str


@dataclass(frozen=True)
class Checked:
    """A check of a file, passed or not."""

    rung: str
    check: str
    verdict: Verdict
    remark: Remark | None


@dataclass(frozen=True)
class Row:
    """A task."""

    task: str
    points: float
    pending: float
    of: float
    extra: bool
    checks: tuple[Checked, ...]
    comment: str = ""  # of a person

    @property
    def full(self) -> bool:
        """Whether nothing is missing."""
        return self.points >= self.of

    @property
    def remarks(self) -> list[Remark]:
        """What did not pass."""
        return [check.remark for check in self.checks if check.remark]

    @property
    def text(self) -> str:
        """The remarks as plain text."""
        lines = [cleaned(self.comment)] if self.comment else []
        lines += [
            f"{r.verdict}  {r.rung}, {r.check}: {r.sentence}".rstrip(": ")
            for r in self.remarks
        ]
        if self.pending:
            lines.append(
                f"{shown_points(self.pending)} points are pending: neither earned nor "
                "lost"
            )
        return "\n".join(lines) or "Everything that was asked passed."


@dataclass(frozen=True)
class Sheet:
    """A grading."""

    rows: tuple[Row, ...]
    comment: str = ""  # of a person, about all of it

    def total(self, what: str, *, extra: bool) -> float:
        """The sum of points, pending or of."""
        mine = [row for row in self.rows if row.extra is extra]
        return sum(float(getattr(row, what)) for row in mine)


def sheet(whole: Results, *, secret_seeds: Seeds = ()) -> Sheet:
    """What may be told of these results: the tasks of the course, and no others that
    were graded here before.
    """
    offered = (found for found in whole.tasks if found.task.offered)
    return Sheet(tuple(_row(found, secret_seeds) for found in offered))


def _row(found: TaskResult, secret_seeds: Seeds) -> Row:
    checks = [
        Checked(rung.rung.id, _asked(check), check.verdict, remark)
        for rung in found.rungs
        for check in rung.checks
        for remark in [_remark(rung, check, secret_seeds)]
    ]
    return Row(
        found.task.id,
        round(found.points, 4),
        round(found.pending, 4),
        found.task.points,
        not found.task.core,
        tuple(checks),
    )


def _asked(check: CheckResult) -> str:
    where = f" in {IN_FULL[check.dtype]}" if check.dtype in IN_FULL else ""
    other = f" of {check.direction}" if check.name not in _NAMED else ""
    return f"{check.name}{other}{where}"


_NAMED = ("forward", "gradient", "gradcheck", "second")


def _remark(rung: RungResult, check: CheckResult, secret_seeds: Seeds) -> Remark | None:
    if check.verdict is Verdict.PASS:
        return None
    file, _, line = (check.location or "").rpartition(":")
    here = rung.rung.shown
    return Remark(
        rung.rung.task,
        rung.rung.id,
        file or here,
        int(line) if line.isdecimal() else 0,
        _asked(check),
        check.verdict,
        _sentence(check, secret_seeds),
    )


def _sentence(check: CheckResult, secret_seeds: Seeds) -> str:
    said = (check.message, check.diagnosis or "", check.replay or "")
    # a message may quote any file that a compiler could read
    told = " ".join(said[:2] if secret_seeds else said)
    words = (HIDDEN, *map(str, secret_seeds))
    if any(word in told for word in words) or HIDDEN in said[2]:
        known = f"; it looks like the mistake {check.mistake}" if check.mistake else ""
        return f"{NOT_TOLD} fails{known}"
    parts = [check.message, check.diagnosis or ""]
    parts += [] if secret_seeds else [check.replay or ""]
    return cleaned("; ".join(" ".join(part.split()) for part in parts if part))
