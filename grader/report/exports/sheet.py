# SPDX-License-Identifier: MIT
"""Makes the sheet of a grading for exports: points and plain sentences, a row a task.

All exports are written from this sheet, so one place leaves out hidden things. If a
course hides anything, the student's process has seen it. It could reveal it in a
message, a line number or an element's value. So an export gives only a check's verdict
and one of our sentences, and a known mistake by its name.
"""

from __future__ import annotations

from dataclasses import dataclass

from grader.checks.check_result import IN_FULL, CheckResult
from grader.course.foreign import cleaned
from grader.engine.score import Results, RungResult, TaskResult, shown_points
from grader.verdicts import Verdict

OURS = {  # where nothing else may be told
    Verdict.WRONG_VALUE: "an output is wrong",
    Verdict.WRONG_GRADIENT: "a gradient is wrong",
    Verdict.WRONG_CONTRACT: "it breaks the contract of the function",
    Verdict.NOT_IMPLEMENTED: "it is not written yet",
    Verdict.BUILD: "it does not build",
    Verdict.CRASH: "it ended its process or raised an exception",
    Verdict.TIMEOUT: "it did not return in time",
    Verdict.MEMORY_ERROR: "it used memory that it may not use",
    Verdict.RACE: "its threads have a race",
    Verdict.TRAFFIC: "the kernel reads and writes more bytes than allowed",
    Verdict.INCOMPLETE: "it ended early or left elements unwritten",
    Verdict.LIMIT: "it used more memory, time or output than a limit allows",
    Verdict.FORBIDDEN: "it uses what this task does not allow",
    Verdict.SUSPECT: "a person has to check it before it counts",
    Verdict.NOISY: "its time could not be measured",
    Verdict.PENDING_GPU: "it needs a machine with a GPU",
    Verdict.SKIPPED: "this machine cannot check it",
    Verdict.BLOCKED: "it needs a file that is not right yet",
    Verdict.GRADER: "the grader failed, not you",
}


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
        return "\n".join(lines) or "Every check that ran passed."


@dataclass(frozen=True)
class Sheet:
    """A grading."""

    rows: tuple[Row, ...]
    comment: str = ""  # of a person, about all of it

    def total(self, what: str, *, extra: bool) -> float:
        """The sum of points, pending or of."""
        mine = [row for row in self.rows if row.extra is extra]
        return sum(float(getattr(row, what)) for row in mine)


def sheet(whole: Results, *, hides: bool = False) -> Sheet:
    """What may be told of these results: the tasks of the course, and no others that
    were graded here before. `hides`: the course has hidden seeds or cases.
    """
    offered = (found for found in whole.tasks if found.task.offered)
    return Sheet(tuple(_row(found, hides=hides) for found in offered))


def _row(found: TaskResult, *, hides: bool) -> Row:
    checks = [
        Checked(rung.rung.id, _asked(check), check.verdict, remark)
        for rung in found.rungs
        for check in rung.checks
        for remark in [_remark(rung, check, hides=hides)]
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


def _remark(rung: RungResult, check: CheckResult, *, hides: bool) -> Remark | None:
    if check.verdict is Verdict.PASS:
        return None
    place = "" if hides else check.location or ""
    file, _, line = place.rpartition(":")
    return Remark(
        rung.rung.task,
        rung.rung.id,
        file or rung.rung.shown,
        int(line) if line.isdecimal() else 0,
        _asked(check),
        check.verdict,
        _ours(check, rung.rung.task) if hides else _sentence(check),
    )


def _ours(check: CheckResult, task: str) -> str:
    """A sentence without a word of the student's process."""
    mistake = f"it looks like the mistake {check.mistake}" if check.mistake else ""
    more = f"make grade T={task} shows the cases that you have"
    more = "" if check.verdict.pending else more
    return "; ".join(filter(None, (OURS[check.verdict], mistake, more)))


def _sentence(check: CheckResult) -> str:
    parts = [check.message, check.diagnosis or "", check.replay or ""]
    return cleaned("; ".join(" ".join(part.split()) for part in parts if part))
