# SPDX-License-Identifier: MIT
"""Gives the result of a starter that nobody has changed, without running it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from signatures import DIRECTIONS
from signatures.view_names import PREFIX, VIEWS

from grader.checks.check_result import CheckResult
from grader.checks.not_run import is_starter, same_for_backward
from grader.course.exhibits import CASE_CHECK
from grader.course.rungs import Rung
from grader.engine import plan
from grader.engine.score import RungResult, TaskResult
from grader.toolchain import given
from grader.verdicts import Verdict

_UNASKED = Verdict.NOT_IMPLEMENTED
CHECKS = {"forward": "forward", "backward": "gradient"}  # direction -> check


def result(rung: Rung) -> RungResult | None:
    """What asking would find out about a file as the handout has it; None for one that
    is changed, or that has more in it than "not written yet".
    """
    if not given.is_untouched(rung):
        return None
    if rung.step:
        return _extension(rung)
    if plan.kind(rung) == plan.PYTHON:
        return _python(rung)
    text = rung.file.read_text(encoding="utf-8", errors="replace")
    if rung.is_view:
        return _view(rung, text)
    operator = rung.operator
    defined = [d for d in DIRECTIONS if re.search(rf"\b{operator}_{d}\(", text)]
    if not defined or not all(is_starter(rung, d) for d in defined):
        return None
    return RungResult(rung, tuple(_unwritten(d) for d in defined))


def exhibit(rung: Rung) -> RungResult | None:
    """An exhibit as the handout has it, where nobody named it: nothing is repaired and
    nothing exposed. What it fails is found out when it is asked by its name.
    """
    if not rung.exhibit or not given.is_untouched(rung):
        return None
    no, text = (
        Verdict.NOT_IMPLEMENTED,
        f"to find out what fails: make grade T={rung.id}",
    )
    wrong = tuple(replace(_unwritten(d), message=text) for d in rung.exhibit.verdict)
    case = CheckResult(CASE_CHECK, CASE_CHECK, no, message="not written yet")
    return RungResult(rung, (*wrong, case))


def waiting(results: Sequence[TaskResult]) -> list[str]:
    """That exhibits were not asked, and how they are: in a grading of all they look as
    if nobody had written them.
    """
    tasks = []
    for result in results:
        found = [r for r in result.rungs if r.verdict(CASE_CHECK) is _UNASKED]
        if any(given.is_untouched(r.rung) for r in found):
            tasks.append(result.task.id)
    if not tasks:
        return []
    return [
        "the files of a bug hunt that you have not changed were not checked. make "
        f"grade T={tasks[0]} shows which checks they fail"
    ]


def _python(rung: Rung) -> RungResult | None:
    text = rung.file.read_text(encoding="utf-8", errors="replace")
    _, _, body = text.partition("def forward(")
    if "raise NotImplementedError" not in body.partition("\n    @")[0]:
        return None
    return _neither(rung)


def _extension(rung: Rung) -> RungResult | None:
    text = rung.file.read_text(encoding="utf-8", errors="replace")
    throws = rf'^ *throw std::runtime_error\("{rung.operator}_forward is not written'
    if not re.search(throws, text, re.M):
        return None
    return _neither(rung)


def _neither(rung: Rung) -> RungResult:
    """Backward is not asked where forward does not return."""
    forward = _unwritten("forward")
    return RungResult(rung, (forward, same_for_backward(forward)))


def _view(rung: Rung, text: str) -> RungResult | None:
    names = [name for name in VIEWS if f" {PREFIX}{name}(" in text]
    if len(names) != 1 or "    return STATUS_NOT_IMPLEMENTED;\n}" not in text:
        return None
    return RungResult(rung, (_unwritten("forward", names[0]),))


def _unwritten(direction: str, name: str = "") -> CheckResult:
    no, text = Verdict.NOT_IMPLEMENTED, "not written yet"
    return CheckResult(name or CHECKS[direction], direction, no, message=text)
