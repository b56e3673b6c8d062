# SPDX-License-Identifier: MIT
"""Describes a wrong answer without a known mistake: where it is wrong, and when."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from grader.checks import named_mistakes
from grader.checks.values.compare import UNIT, C
from grader.diagnosis.match import Trial, tensors
from grader.diagnosis.which_cases import EXACTLY, FEW, common, listed, smallest
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
MANY, CLOSE = 8, 1e-4  # elements, and how nearly they share one relation
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


def describe(trials: Sequence[Trial]) -> str | None:
    """One sentence, or None if the failures have nothing in common."""
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
    region = _region(trials, wrong)
    if region:
        parts.append(region)
    parts += _relation(trials)
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


def _relation(trials: Sequence[Trial]) -> list[str]:
    """Whether all that is wrong is the truth times, or plus, one number."""
    got, right = [], []
    for trial in trials:
        for name, mask in trial.wrong.items():
            if trial.got is None:
                return []
            got.append(trial.got[name][mask])
            right.append(trial.setting.truth[name][mask].double())
    if not got or sum(len(g) for g in got) < MANY:
        return []
    mine, true = torch.cat(got), torch.cat(right)
    if bool((mine == 0).all()):
        return ["every wrong element is 0"]
    for words, numbers, nothing in (
        ("every wrong element is {} times the right one", mine / true, "1"),
        ("every wrong element is {} more than the right one", mine - true, "0"),
        ("every wrong element is {} less than the right one", true - mine, "0"),
    ):
        middle = float(numbers.median())
        middle_text = f"{middle:.6g}"
        same = (numbers - middle).abs() <= CLOSE * abs(middle)
        negative = "times" not in words and middle < 0
        if bool(same.all()) and middle_text not in (nothing, "-0") and not negative:
            return [words.format(middle_text)]
    return []


# ---- which elements ------------------------------------------------------------------


def _region(trials: Sequence[Trial], wrong: Sequence[str]) -> str | None:
    """Where in the first wrong tensor the wrong elements lie."""
    if not wrong:
        return None
    name = wrong[0]
    masks = [t.wrong[name] for t in trials if name in t.wrong]
    masks = [m for m in masks if m.dim() and m.numel() > 1 and bool(m.any())]
    if len(masks) < FEW or all(bool(m.all()) for m in masks):
        return None
    dims = min(m.dim() for m in masks)
    for back in range(1, dims + 1):
        word = _axis_word(name, back, masks)
        ends = [_only_end(m, back) for m in masks]
        if all(ends) and any(m.shape[-back] > 1 for m in masks):
            return f"only the last {word} of '{name}' is wrong"
        tile = next((n for n in (4, 8, 16, 32) if _tails(masks, back, n)), None)
        if tile:
            return (
                f"only the last {word}s of '{name}' are wrong: they do not fill a "
                f"tile of {tile}"
            )
        if all(_all_but_the_first(m, back) for m in masks):
            return f"only the first {word} of '{name}' is right"
        if all(_only_at(m, back, slice(0, 1)) for m in masks):
            return f"only the first {word} of '{name}' is wrong"
    if name == "output" and dims == 4 and all(_border(t, name) for t in trials):
        return f"only the border of '{name}' is wrong, where windows leave the image"
    return None


def _axis_word(name: str, back: int, masks: Sequence[torch.Tensor]) -> str:
    """What people call the axis so many from the end."""
    if all(m.dim() == 4 for m in masks):
        words = {1: "column", 2: "row", 3: "channel", 4: "sample"}
        if name == "grad_weight":
            words[4] = "filter"
        return words[back]
    return {1: "column", 2: "row", 3: "matrix"}.get(back, f"index of axis -{back}")


def _only_at(mask: torch.Tensor, back: int, where: slice) -> bool:
    """Whether all that is wrong lies there along one axis, and something else does
    not.
    """
    inside = mask.movedim(-back, 0)[where]
    whole = mask.shape[-back]
    return int(inside.sum()) == int(mask.sum()) and 0 < len(inside) < whole


def _all_but_the_first(mask: torch.Tensor, back: int) -> bool:
    """Whether each index but the first has something wrong, and the first nothing."""
    wrong = mask.movedim(-back, 0).reshape(mask.shape[-back], -1).any(dim=1)
    return len(wrong) > 1 and not bool(wrong[0]) and bool(wrong[1:].all())


def _only_end(mask: torch.Tensor, back: int) -> bool:
    return _only_at(mask, back, slice(-1, None)) or mask.shape[-back] == 1


def _tails(masks: Sequence[torch.Tensor], back: int, tile: int) -> bool:
    """Whether all that is wrong lies behind the last full tile along one axis."""
    for mask in masks:
        extent = mask.shape[-back]
        inside = mask.movedim(-back, 0)[extent - extent % tile :]
        if int(inside.sum()) != int(mask.sum()):
            return False
    return any(mask.shape[-back] > tile for mask in masks)


def _border(trial: Trial, name: str) -> bool:
    """Whether nothing is wrong but windows that touch the padding."""
    if name not in trial.wrong:
        return True
    options = trial.setting.options
    if "padding" not in options or "weight" not in trial.setting.inputs:
        return False
    ones = torch.ones_like(trial.setting.inputs["input"][:1, :1]).contiguous()
    kernel = torch.ones_like(trial.setting.inputs["weight"][:1, :1]).contiguous()
    seen = torch.nn.functional.conv2d(
        ones, kernel, None, options["stride"], options["padding"], options["dilation"]
    )
    return not bool((trial.wrong[name] & (seen == kernel.numel())).any())
