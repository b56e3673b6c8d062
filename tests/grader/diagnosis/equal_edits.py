# SPDX-License-Identifier: MIT
"""Finds the edits of the search that make the same numbers in every case.

    python -m tests.grader.diagnosis.equal_edits [OPERATOR ...] [--write]

Nobody can tell such edits apart from outside. The grader names the first of them.
So its sentence only says which code makes the numbers. It is true of all of them.
An edit that changes no number of any case is never named.
--write makes docs/results/equal_edits.md and tests/programs/equal_edits.txt.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from grader import operators
from grader.diagnosis.mistakes.mistake import Mistake, Setting
from grader.diagnosis.search import (
    named_steps,
    searched,
    step_mistakes,
    sum_mistakes,
)
from grader.diagnosis.search.forms import FORMS
from grader.diagnosis.search.sums import loops_of
from tests import PROGRAMS
from tests.proofs import pages

SEED = 7
MOST = 1 << 13  # products of a case
EQUAL = 1e-9
NOTHING = -1e6  # stands for a number that an edit does not make
BEGIN, END = searched("", "|", ()).sentence.split("|")
SEARCHED = (*FORMS, *named_steps.PROGRAMS)
PAGE = """# Edits that make the same numbers

Written by `python -m tests.grader.diagnosis.equal_edits --write`, in double, over the
cases of each operator with at most 8,192 products. The grader tries each edit of a
formula if no known mistake fits. *Without effect* are edits that change no number of
any case: they are never named. *Kinds of numbers* counts what can be told apart: edits
with the same numbers in all cases count once. `tests/programs/equal_edits.txt` lists
such edits, those with the same numbers in one line. The grader says the first of them.
"""


@dataclass(frozen=True)
class Found:
    """The edits of one result of an operator."""

    operator: str
    result: str
    edits: int
    without_effect: int
    groups: list[list[str]]  # words of the edits with the same numbers


def settings(operator: str, *, backward: bool) -> Iterator[Setting]:
    """Cases in double, with the right results."""
    entry = operators.get(operator)
    for case in entry.cases(SEED, drawn=5):
        inputs = entry.inputs(case, torch.float64, SEED)
        options = entry.signature.resolve(case.options)
        grads = []
        if backward:
            results = entry.outputs(inputs, case)
            grads = entry.grad_outputs(case, results, torch.float64, SEED)
        truth = entry.truth(inputs, case, grads)
        names = [f"grad_{name}" for name in entry.signature.gradients]
        found = truth.gradients
        if not backward:
            names = [one.name for one in entry.signature.outputs]
            found = truth.outputs
        right = {n: v for n, v in zip(names, found) if v is not None}
        made = Setting(entry, inputs, options, tuple(grads), right)
        if not made.empty and right and not case.is_extreme:
            yield made


def found_of(operator: str) -> Iterator[Found]:
    """The edits of each result of an operator, those with the same numbers together."""
    for backward in (False, True):
        cases = [
            s for s in settings(operator, backward=backward) if _small(operator, s)
        ]
        for result in dict.fromkeys(name for s in cases for name in s.truth):
            asked = [s for s in cases if result in s.truth]
            yield _grouped(operator, result, _mistakes(operator, result, asked), asked)


def _small(operator: str, setting: Setting) -> bool:
    """Whether all edits of a case can be computed in a short time."""
    if operator not in FORMS:
        return True
    form = FORMS[operator]
    ranges = form.numbers(setting).ranges
    return math.prod(ranges[loop] for loop in loops_of(form.products)) <= MOST


def _mistakes(
    operator: str, result: str, cases: Sequence[Setting]
) -> Sequence[Mistake]:
    """The edits that the grader tries for a result."""
    if operator in FORMS:
        return sum_mistakes.mistakes_of(operator, result)
    return step_mistakes.mistakes_of(operator, cases)


def _grouped(
    operator: str, result: str, mistakes: Sequence[Mistake], cases: Sequence[Setting]
) -> Found:
    """Compare the numbers of all edits, and the right numbers, in all cases."""
    right = torch.cat([_numbers(s.truth[result]) for s in cases])
    seen: dict[str, list[tuple[torch.Tensor, list[str]]]] = {}  # by a rough sum
    without_effect = 0
    for mistake in mistakes:
        made = torch.cat([_of_case(mistake, s, result) for s in cases])
        if _equal(made, right):
            without_effect += 1
            continue
        alike = seen.setdefault(f"{float(made.sum()):.5e}", [])
        group = next((words for other, words in alike if _equal(made, other)), None)
        if group is None:
            alike.append((made, group := []))
        group.append(_words(mistake))
    groups = [words for alike in seen.values() for _, words in alike]
    return Found(operator, result, len(mistakes), without_effect, groups)


def _of_case(mistake: Mistake, setting: Setting, result: str) -> torch.Tensor:
    """What an edit makes of a case; nothing can be said of some cases."""
    right = setting.truth[result]
    answers = mistake.formulas[0](setting)
    made = right if answers is None else answers.get(result, right)
    if made is None or made.shape != right.shape:
        return torch.full((right.numel(),), NOTHING, dtype=torch.float64)
    return _numbers(made)


def _numbers(tensor: torch.Tensor) -> torch.Tensor:
    """All numbers of a tensor, NaN and infinity as numbers that no edit makes."""
    return tensor.double().flatten().nan_to_num(NOTHING, NOTHING, NOTHING)


def _equal(made: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two edits make the same numbers."""
    return torch.allclose(made, other, rtol=EQUAL, atol=EQUAL)


def _words(mistake: Mistake) -> str:
    """What the grader says the numbers result from."""
    return mistake.sentence.removeprefix(BEGIN).removesuffix(END)


def table_of(found: Sequence[Found]) -> str:
    """How many edits can be told apart."""
    rows = [
        (one.operator, one.result, one.edits, one.without_effect, len(one.groups))
        for one in found
    ]
    head = ["operator", "result", "edits", "without effect", "kinds of numbers"]
    return "\n".join(pages.table(head, rows, words=2))


def lists_of(found: Sequence[Found]) -> str:
    """The edits with the same numbers, a line for each kind of numbers."""
    lines = []
    for one in found:
        lines.append(f"# {one.operator}, {one.result}")
        lines += [" = ".join(words) for words in one.groups if len(words) > 1]
    return "\n".join(lines) + "\n"


def main(words: list[str]) -> int:
    """Compare the edits of all operators, or of some."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.grader.diagnosis.equal_edits"
    )
    parser.add_argument("operator", nargs="*", choices=[*SEARCHED, []], default=[])
    parser.add_argument("--write", action="store_true", help="the page")
    arguments = parser.parse_args(words)
    found = [one for name in arguments.operator or SEARCHED for one in found_of(name)]
    if arguments.write:
        pages.write("equal_edits.md", PAGE, table_of(found))
        (PROGRAMS / "equal_edits.txt").write_text(lists_of(found))
    else:
        print(table_of(found), lists_of(found), sep="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
