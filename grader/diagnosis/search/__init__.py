# SPDX-License-Identifier: MIT
"""Names mistakes by search: one edit of a formula that makes the numbers."""

from __future__ import annotations

from collections.abc import Iterable

from grader.diagnosis.mistakes.mistake import Formula, Mistake

NAMES = (  # docs/guides/mistakes.md
    "factor_missing",
    "factor_twice",
    "factor_wrong",
    "gradient_of_step_wrong",
    "index_wrong",
    "loop_short",
    "memory_order_wrong",
    "neighbour_wrong",
    "one_iteration",
    "results_exchanged",
    "step_wrong",
    "sum_averaged",
)
OF_TERMS = ("factor_wrong", "loop_short")  # terms are missing, or seem to be


def searched(name: str, words: str, formulas: Iterable[Formula]) -> Mistake:
    """A mistake that is found by search. `words` say what makes these numbers."""
    sentence = f"exactly these numbers result from {words}. Does the code do this?"
    return Mistake(name, sentence, tuple(formulas))
