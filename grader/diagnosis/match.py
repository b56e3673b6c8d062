# SPDX-License-Identifier: MIT
"""Finds the known mistake that makes exactly these wrong numbers in every case.

A formula must match every number of every case. If it differs from the truth, the
student's result must be the formula's result. If it does not differ, the student's
result must be right. One wrong number rules the formula out. The formula must differ in
two cases, or in many elements of one case.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import torch

from grader.checks.check_result import Finding
from grader.checks.values.compare import UNIT, C
from grader.diagnosis.mistakes.mistake import (
    PAST_THE_END,
    Answers,
    Formula,
    Mistake,
    OfTensor,
    Setting,
)
from grader.operators import Case

ROOM = 16.0  # times the ordinary tolerance: a wrong formula has terms of its own
_PAST = re.compile(
    r"writes (?:'(\w+)' right past its end|[^']*past the end of '(\w+)')"
)
LARGE = 1 << 13  # numbers of a case that takes longer than several small ones
ENOUGH = 8  # elements of a single case that are evidence


@dataclass
class Trial:
    """One case, run: what came, and what was wrong with it."""

    case: Case
    setting: Setting
    got: dict[str, torch.Tensor] | None  # in double; infinity where never written
    wrong: dict[str, torch.Tensor] = field(default_factory=dict)  # masks, if any
    size: dict[str, float] = field(default_factory=dict)  # the terms' magnitude
    terms: dict[str, int] = field(default_factory=dict)
    dtype: torch.dtype = torch.float64
    garbage: bool = False  # all that is wrong is an output's old contents, or from it
    tainted: bool = False  # some of it was computed with
    finding: Finding | None = None  # why nothing came
    died: bool = False  # and a new worker has to start
    empty: bool = False  # some tensor has no elements: formulas have nothing to say
    _said: dict[int, Answers | None] = field(default_factory=dict, repr=False)

    def ask(self, formula: Formula) -> Answers | None:
        """What a formula says of this case; asked once for all tensors."""
        if id(formula) not in self._said:
            self._said[id(formula)] = formula(self.setting)
        return self._said[id(formula)]

    @property
    def failed(self) -> bool:
        """Whether anything is wrong with this case."""
        return self.got is None or bool(self.wrong)

    @property
    def past(self) -> str:
        """The tensor that was written past its end, which ended the call; or ""."""
        found = _PAST.search(self.finding.message) if self.finding else None
        return found[1] or found[2] if found else ""

    @property
    def strided(self) -> bool:
        """Whether some input is a view that is not contiguous."""
        given = (*self.setting.inputs.values(), *self.setting.grads)
        return not all(t.is_contiguous() for t in given)


@dataclass(frozen=True)
class Match:
    """A mistake that explains one tensor, and how many elements are evidence of it."""

    mistake: Mistake
    evidence: int


def fits(answers: Answers | None, trial: Trial, name: str) -> int | None:
    """Elements in which the formula differs from the truth and is right about the
    student; None if it is wrong about any element.
    """
    foretells_end = any(value is PAST_THE_END for value in (answers or {}).values())
    if foretells_end:
        return 1 if answers and answers.get(trial.past) is PAST_THE_END else None
    if trial.got is None:
        names = trial.setting.truth
        return 0 if any(_touches(answers, trial, n) for n in names) else None
    truth, got = trial.setting.truth[name], trial.got[name]
    foretold = None if answers is None else answers.get(name, truth)
    if foretold is truth:
        return None if name in trial.wrong else 0
    if foretold is None or foretold.shape != truth.shape:
        return 0
    allowed = tolerance(trial, name, foretold)
    off = (got - foretold).abs()
    if bool((off > allowed).any()):  # nearly all formulas end here
        return None
    foreseen = ~torch.isnan(foretold)
    if bool((foreseen & ~((off <= allowed) | (got == foretold))).any()):
        return None
    differs = ~((foretold - truth).abs() <= 3 * allowed)
    return int((foreseen & differs).sum())


def _touches(answers: Answers | None, trial: Trial, name: str) -> bool:
    """Whether a formula says that something is wrong with this tensor."""
    truth = trial.setting.truth[name]
    foretold = None if answers is None else answers.get(name, truth)
    if foretold is None or foretold.shape != truth.shape:
        return True
    allowed = 3 * tolerance(trial, name, foretold)
    return not bool(((foretold - truth).abs() <= allowed).all())


def tolerance(trial: Trial, name: str, foretold: torch.Tensor) -> float:
    """The ordinary tolerance with room, for the largest element there is."""
    finite = foretold.abs().nan_to_num_(0.0, posinf=0.0)
    largest = max(trial.size[name], float(finite.max()) if finite.numel() else 0.0)
    ordinary = C * math.sqrt(max(1, trial.terms[name])) * UNIT[trial.dtype]
    return ROOM * ordinary * largest


def _follows(formula: Formula, trials: Sequence[Trial], name: str) -> int | None:
    """Elements of evidence for a formula, 0 if too few; None if a case contradicts."""
    cases = evidence = 0
    if isinstance(formula, OfTensor) and formula.tensor != name:
        return None if any(name in trial.wrong for trial in trials) else 0
    for trial in trials:
        if name not in trial.setting.truth or trial.empty:
            continue
        found = fits(trial.ask(formula), trial, name)
        if found is None:
            return None
        evidence += found
        cases += found > 0
    return evidence if cases >= 2 or evidence >= ENOUGH else 0


def tensors(trials: Iterable[Trial]) -> list[str]:
    """The names of all tensors that are wrong somewhere, in the operator's order."""
    names: dict[str, bool] = {}
    for trial in trials:
        for name in trial.setting.truth:
            wrong = name in trial.wrong or name == trial.past
            names[name] = names.get(name, False) or wrong
    return [name for name, wrong in names.items() if wrong]


def matches(
    mistakes: Sequence[Mistake], trials: Sequence[Trial], name: str
) -> list[Match]:
    """The mistakes that explain a tensor in every case, in the order of the list."""
    ordered = sorted(trials, key=lambda t: _cost(t, name))
    made = []
    for mistake in mistakes:
        best = max(
            (_follows(f, ordered, name) or 0 for f in mistake.formulas), default=0
        )
        if best and (not mistake.together or possible(mistake, trials)):
            made.append(Match(mistake, best))
    return made


def _cost(trial: Trial, name: str) -> tuple[bool, bool, bool, int]:
    """Where a case stands: a wrong formula is cheaply refuted by a small wrong case, or
    else by a right one that is not trivial.
    """
    size = sum(t.numel() for t in trial.setting.inputs.values())
    right = name not in trial.wrong
    return size > LARGE, right, trial.got is None, -size if right else size


def possible(mistake: Mistake, trials: Sequence[Trial]) -> bool:
    """Whether nothing contradicts a mistake, though little may speak for it."""
    names = {name for trial in trials for name in trial.setting.truth}
    return all(
        any(_follows(f, trials, name) is not None for f in mistake.formulas)
        for name in names
    )


def name_it(
    mistakes: Sequence[Mistake], trials: Sequence[Trial]
) -> list[tuple[str, Mistake]]:
    """A mistake for each wrong tensor, the same one if one explains all; or nothing."""
    return name_of(lambda _: mistakes, trials)


def name_of(
    mistakes: Callable[[str], Sequence[Mistake]], trials: Sequence[Trial]
) -> list[tuple[str, Mistake]]:
    """The same, where each tensor has a list of mistakes of its own."""
    wrong = tensors(trials)
    found = {}
    for name in wrong:
        found[name] = matches(mistakes(name), trials, name)
        if not found[name]:
            return []
    if not wrong:
        return []
    shared = [
        m.mistake
        for m in found[wrong[0]]
        if all(any(o.mistake is m.mistake for o in found[n]) for n in wrong)
    ]
    if shared:
        most = max(_total(m, found) for m in shared)
        best = next(m for m in shared if _total(m, found) == most)
        return [(name, best) for name in wrong]
    return [(n, max(found[n], key=lambda m: m.evidence).mistake) for n in wrong]


def _total(mistake: Mistake, found: dict[str, list[Match]]) -> int:
    return sum(
        m.evidence for some in found.values() for m in some if m.mistake is mistake
    )
