# SPDX-License-Identifier: MIT
"""Names the line of a wrong file: one small change of it makes all cases right.

The message does not say what to write instead. It is true, because the changed file has
run all these cases. The line is looked for if no known mistake fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from grader.checks.check_result import CheckResult
from grader.checks.named_mistakes import ONE_CHANGE_HELPS
from grader.checks.subject import Subject
from grader.course.rungs import Rung
from grader.diagnosis.repair.in_c import changed_c
from grader.diagnosis.repair.in_python import changed_python
from grader.diagnosis.repair.small_change import Edit
from grader.diagnosis.repair.trying import Trying, that_help
from grader.operators import Case
from grader.verdicts import Verdict

TRIED = (
    Verdict.WRONG_VALUE,
    Verdict.WRONG_GRADIENT,
    Verdict.WRONG_CONTRACT,
    Verdict.INCOMPLETE,
    Verdict.MEMORY_ERROR,
    Verdict.CRASH,
)
MOST_KINDS = {1: 4, 2: 2, 3: 0}  # lines that may decide -> kinds that help in each


def locate(
    rung: Rung, subject: Subject, result: CheckResult, cases: Sequence[Case], seed: int
) -> CheckResult:
    """The result of a failed check; with a line if a change there makes it right."""
    of_numbers = result.name in ("forward", "gradient")
    if not of_numbers or result.verdict not in TRIED or result.mistake:
        return result
    if rung.exhibit:
        return result  # to find the line is the task of a bug hunt
    language = changed_python if subject.python else changed_c
    with language.changed(rung, subject, result.direction, result.dtype) as changed:
        if not changed.edits:
            return result
        trying = Trying(changed.subject, result.direction, result.dtype, changed.choose)
        ready = trying.ready(cases, seed)
        helping = that_help(trying, ready, changed.order)
    found = [changed.edits[number - 1] for number in helping]
    if not found or _ambiguous(found):
        return result
    best = found[0]
    text = sentence(best, len(ready))
    told = f"{text}; {result.diagnosis}" if result.diagnosis else text
    place = result.location or f"{rung.shown}:{best.line}"
    return replace(result, diagnosis=told, location=place, mistake=ONE_CHANGE_HELPS)


def _ambiguous(found: Sequence[Edit]) -> bool:
    """Whether changes of many lines help, or of many kinds: then they only leave out a
    part of the code, and the mistake is inside of it.
    """
    kinds: dict[int, set[str]] = {}
    for edit in found:
        kinds.setdefault(edit.line, set()).add(edit.kind)
    most = MOST_KINDS[min(len(kinds), 3)]
    return any(len(of_line) > most for of_line in kinds.values())


def sentence(edit: Edit, cases: int) -> str:
    """What a student is told."""
    every = "the case is" if cases == 1 else f"all {cases} cases are"
    return f"line {edit.line}: with {edit.words}, {every} right"
