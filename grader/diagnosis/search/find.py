# SPDX-License-Identifier: MIT
"""Searches the edit of an operator's formula that makes the numbers of all cases.

It is used if no known mistake fits. match.py has the rule. An edit must make the
numbers of every failing case, and the right numbers in all other cases.
"""

from __future__ import annotations

from collections.abc import Sequence

from grader.diagnosis.match import Trial
from grader.diagnosis.mistakes.mistake import Mistake
from grader.diagnosis.search import step_mistakes, sum_mistakes
from grader.diagnosis.search.forms import FORMS
from grader.diagnosis.search.named_steps import PROGRAMS


def name_by_search(operator: str, trials: Sequence[Trial]) -> list[tuple[str, Mistake]]:
    """A mistake for each wrong tensor; nothing if one of them has none."""
    small_first = sorted((t for t in trials if not t.empty), key=_size)
    if not any(trial.failed for trial in small_first):
        return []
    if operator in FORMS:
        return sum_mistakes.named(operator, small_first)
    if operator in PROGRAMS:
        return step_mistakes.named(operator, small_first)
    return []


def _size(trial: Trial) -> int:
    """How many numbers a case has."""
    return sum(t.numel() for t in trial.setting.inputs.values())
