# SPDX-License-Identifier: MIT
"""Makes mistakes of the changes of named steps, and finds the one that fits."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch

from grader.diagnosis.match import Trial, name_of
from grader.diagnosis.mistakes.formulas import through
from grader.diagnosis.mistakes.mistake import Answers, Formula, Mistake, Setting
from grader.diagnosis.search import searched
from grader.diagnosis.search.named_steps import (
    BACKWARD_BY_AUTOGRAD,
    PROGRAMS,
    SAVED,
    Change,
    Place,
    Use,
    changes,
    factors,
)
from grader.operators.entry import Tensors


def named(operator: str, trials: Sequence[Trial]) -> list[tuple[str, Mistake]]:
    """A mistake for each wrong tensor, or nothing."""
    found = mistakes_of(operator, trials[0].setting)
    return name_of(lambda _: found, trials)


def mistakes_of(operator: str, setting: Setting) -> tuple[Mistake, ...]:
    """The changes of the steps that an operator has in a case."""
    recording = Use()
    PROGRAMS[operator](setting, setting.inputs, recording)
    return _mistakes(operator, bool(setting.grads), tuple(recording.places))


@functools.cache
def _mistakes(
    operator: str, backward: bool, places: tuple[Place, ...]
) -> tuple[Mistake, ...]:
    """The changes of one use of a value in an operator's steps."""
    return tuple(_changed_uses(operator, backward, places))


def _changed_uses(
    operator: str, backward: bool, places: Sequence[Place]
) -> Iterator[Mistake]:
    """The likely changes of all uses first."""
    if operator == "lltm" and not backward:
        words = "each result in the other one's place"
        yield searched("results_exchanged", words, iter([_exchanged]))
    by_autograd = backward and operator in BACKWARD_BY_AUTOGRAD
    names = list(dict.fromkeys(name for _, name in places))
    for one in _in_turns(
        changes(place, names)
        for place in reversed(places)
        if by_autograd or not backward or place[0] not in SAVED
    ):
        yield _step(operator, "step_wrong", *one)
    if by_autograd:
        for one in _in_turns(factors(place, names) for place in reversed(places)):
            yield _step(operator, "gradient_of_step_wrong", *one)


def _in_turns(some: Iterable[Iterable[Any]]) -> Iterator[Any]:
    """The first of each, then the second of each, and so on."""
    for row in itertools.zip_longest(*some):
        yield from (one for one in row if one)


def _exchanged(s: Setting) -> Answers:
    """Two results, each in the other one's place."""
    first, second = s.results
    return {first: s.truth[second], second: s.truth[first]}


def _step(operator: str, kind: str, words: str, use: Use) -> Mistake:
    """A changed use, as a mistake."""
    return searched(kind, words, [_formula(operator, use)])


def changed(operator: str, *uses: tuple[str, str, Change]) -> Formula:
    """An operator that changes what some steps use: the step, the value, the change."""
    return _formula(operator, Use({(step, name): how for step, name, how in uses}))


def _formula(operator: str, use: Use) -> Formula:
    """What the steps with a changed use make."""
    program = PROGRAMS[operator]

    def formula(s: Setting) -> Answers | None:
        used = replace(use, values={}, places=[])
        made: Answers | None
        if s.grads and operator in BACKWARD_BY_AUTOGRAD:

            def results(s: Setting, inputs: Tensors) -> tuple[torch.Tensor, ...]:
                made = program(s, inputs, used).values()
                return tuple(value for value in made if value is not None)

            made = through(results)(s)
        else:
            made = program(s, s.inputs, used)
        return made if used.possible else {}

    return formula
