# SPDX-License-Identifier: MIT
"""Describes a wrong answer without a known mistake: where it is wrong, and when."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import torch

from grader.checks import named_mistakes
from grader.checks.values.compare import UNIT, C
from grader.diagnosis.match import Trial, tensors
from grader.diagnosis.mistakes.mistake import listed
from grader.diagnosis.which_cases import EXACTLY, common, smallest
from grader.diagnosis.wrong_elements import instead, where
from grader.verdicts import Verdict

FLOAT, HALF = 2.0**-24, 2.0**-11  # rounding units; TF32 rounds as half does
NEAR = 64.0  # times the tolerance: still a matter of rounding
LEAST_FLOAT, LEAST_HALF = 2.0**-34, 2.0**-17  # what is smaller is not their rounding
SPREAD = 0.5  # of all elements: rounding spares few
FLOATS = (
    "the error is as large as float's rounding. Does the double build use float "
    "somewhere (a literal with f, expf, a float variable)? Or does a constant have "
    "few digits?"
)
LOST = 1e-3  # more than a double loses in the square of a number around 10000
MOST = 3  # tensors whose elements are compared
CANCELS = (
    "the results are wrong only for numbers far from 0. A difference of large numbers "
    "loses its digits, for example average of squares - square of average"
)
NAMES = {
    FLOATS: named_mistakes.DIGITS_OF_DOUBLE_LOST,
    CANCELS: named_mistakes.DIGITS_CANCEL,
}


def read_as_contiguous(trials: Sequence[Trial]) -> str | None:
    """Reading past the end of a view, while all contiguous cases are right and most of
    the views of that tensor are not: one view alone may be wrong for another reason.
    """
    dense = [t for t in trials if not t.strided]
    if not dense or any(t.failed for t in dense):
        return None
    for trial in trials:
        finding = trial.finding
        if finding is None or finding.verdict is not Verdict.MEMORY_ERROR:
            continue
        for name, tensor in _given(trial).items():
            past = f"past the end of '{name}'" in finding.message
            if past and not tensor.is_contiguous() and _most_views(trials, name):
                return (
                    f"'{name}' is a view in this case, with strides "
                    f"{list(tensor.stride())} for sizes {list(tensor.shape)}. The code "
                    "seems to read it as if it were contiguous: all contiguous cases "
                    "pass"
                )
    return None


def _most_views(trials: Sequence[Trial], name: str) -> bool:
    """Whether at least half of the cases with a view of this tensor are wrong."""
    views = [
        t.failed
        for t in trials
        if not t.empty and name in (g := _given(t)) and not g[name].is_contiguous()
    ]
    return 2 * sum(views) >= len(views)


def _given(trial: Trial) -> dict[str, torch.Tensor]:
    """What a case gives: inputs, and in backward the gradients of the results."""
    given = dict(trial.setting.inputs)
    if trial.setting.grads:
        names = [f"grad_{name}" for name in trial.setting.results]
        given |= dict(zip(names, trial.setting.grads))
    return given


def describe(trials: Sequence[Trial], exact: Sequence[Trial] = ()) -> str | None:
    """One sentence, or None if the failures have nothing in common; `exact` are the
    same cases in double.
    """
    if _cancels(trials):
        return CANCELS
    rounding = _rounding(trials)
    if rounding:
        return rounding
    parts = []
    wrong = tensors(trials)
    asked = {name for t in trials for name in t.setting.truth}
    if wrong and len(wrong) < len(asked):
        verb, names = "is" if len(wrong) == 1 else "are", [f"'{n}'" for n in wrong]
        parts.append(f"only {listed(names)} {verb} wrong")
    shared = common(trials)
    if shared:
        parts.append(shared)
    parts += _elements(trials, exact, wrong)
    example = None if shared and EXACTLY in shared else smallest(trials)
    if example:
        parts.append(example)
    return "; ".join(parts) or None


# ---- rounding ------------------------------------------------------------------------


def _rounding(trials: Sequence[Trial]) -> str | None:
    """Whether errors are as small as those of a coarser type, and as many."""
    worst = 0.0  # in units of the magnitude times sqrt(K)
    off = among = 0  # elements that are wrong, and all but those that are 0
    sums = False
    for trial in trials:
        if trial.failed and trial.got is None:
            return None
        for name, mask in trial.wrong.items():
            if trial.got is None or not bool(mask.any()):  # only written past its ends
                return None
            truth = trial.setting.truth[name]
            error = (trial.got[name] - truth).abs()[mask]
            scale = trial.size[name] * C * math.sqrt(max(1, trial.terms[name]))
            if not scale or not bool(torch.isfinite(error).all()):
                return None
            worst = max(worst, float(error.max()) / scale)
            off += int(mask.sum())
            among += int((mask | (truth != 0)).sum())
            sums |= trial.terms[name] > 1
    if worst == 0:
        return None
    dtype, spread = trials[0].dtype, off >= SPREAD * among
    if dtype == torch.float64 and spread and LEAST_FLOAT <= worst <= FLOAT:
        return FLOATS
    if dtype == torch.float32 and spread and LEAST_HALF <= worst <= HALF:
        return (
            "the error is as large as half precision's rounding. Are sums or operands "
            "stored with fewer bits than float? Or is a constant, or a small term of "
            "the formula, a little wrong?"
        )
    if sums and worst <= NEAR * UNIT[dtype]:
        return (
            "the errors are small, like rounding errors, but a sum that adds term by "
            "term has smaller errors"
        )
    return None


def _cancels(trials: Sequence[Trial]) -> bool:
    """Whether nothing is wrong but cases far from 0, and those by lost digits only."""
    failed = [t for t in trials if t.failed]
    if not failed or any(t.case.values != "far" or t.got is None for t in failed):
        return False
    if trials[0].dtype != torch.float64:
        return True  # the same cases are right in double
    return all(
        bool(((t.got[name] - t.setting.truth[name]).abs()[mask] < LOST).all())
        for t in failed
        for name, mask in t.wrong.items()
        if t.got is not None
    )


# ---- which elements ------------------------------------------------------------------


def _elements(
    trials: Sequence[Trial], exact: Sequence[Trial], wrong: Sequence[str]
) -> list[str]:
    """Where the wrong elements lie, and what stands there. In double they lie apart
    more sharply.
    """
    sharp = exact if _same(trials, exact) else trials
    before = "in float64, " if sharp is not trials else ""
    failed, parts = [t for t in sharp if t.failed], []
    for name in itertools.islice(wrong, MOST):
        for some, where_ in ((sharp, ""), (failed, "in the cases that fail, ")):
            condition, right = where(some, name)
            if condition:
                only = "only" if right else "exactly"
                also = f" (right elements there: {right})" if right else ""
                text = f"'{name}' is wrong {only} where {condition}{also}"
                parts.append(f"{before}{where_}{text}")
                break
        if what := instead(sharp, name):
            parts.append(f"{before}{what}")
        if parts:
            break
    return parts


def _same(trials: Sequence[Trial], exact: Sequence[Trial]) -> bool:
    """Whether double has the wrong elements of another dtype, and not many more."""
    if not exact or trials[0].dtype == exact[0].dtype:
        return False
    counts = []
    for some in (trials, exact):
        masks = [mask for t in some for mask in t.wrong.values()]
        counts.append(sum(int(mask.sum()) for mask in masks))
    return 0 < counts[0] <= counts[1] <= 2 * counts[0]
