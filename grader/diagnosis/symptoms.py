# SPDX-License-Identifier: MIT
"""A wrong answer that is no known mistake: where is it wrong, and when?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import torch

from grader.checks.values.compare import UNIT, C
from grader.diagnosis.match import Trial, tensors
from grader.verdicts import Verdict

FLOAT, HALF = 2.0**-24, 2.0**-11  # rounding units; TF32 rounds as half does
NEAR = 64.0  # times the tolerance: still a matter of rounding
MANY, CLOSE = 8, 1e-4  # elements, and how nearly they share one relation
CANCELS = (
    "wrong only where the numbers lie far from 0: in a difference of large ones, such "
    "as the average of squares less the square of the average, no digits are left"
)
Test = Callable[[Trial], bool]


def read_as_contiguous(trials: Sequence[Trial]) -> str | None:
    """Reading past the end of a view, while all contiguous cases are right."""
    dense = [t for t in trials if not t.strided]
    if any(t.failed for t in dense):
        return None
    for trial in trials:
        finding = trial.finding
        if not dense or finding is None or finding.verdict is not Verdict.MEMORY_ERROR:
            continue
        given = dict(trial.setting.inputs)
        if trial.setting.grads:
            names = [f"grad_{name}" for name in trial.setting.results]
            given |= dict(zip(names, trial.setting.grads))
        for name, tensor in given.items():
            past = f"past the end of '{name}'" in finding.message
            if past and not tensor.is_contiguous():
                return (
                    f"'{name}' is a view there, its strides are "
                    f"{list(tensor.stride())} for sizes {list(tensor.shape)}: it seems "
                    "to be read as if it were contiguous; all contiguous cases pass"
                )
    return None


def describe(trials: Sequence[Trial]) -> str | None:
    """One sentence, or None if the failures have nothing in common."""
    if all(t.case.values == "far" for t in trials if t.failed):
        return CANCELS
    rounding = _rounding(trials)
    if rounding:
        return rounding
    parts = []
    wrong = tensors(trials)
    asked = {name for t in trials for name in t.setting.truth}
    if wrong and len(wrong) < len(asked):
        verb = "is" if len(wrong) == 1 else "are"
        parts.append("only " + " and ".join(f"'{n}'" for n in wrong) + f" {verb} wrong")
    common = _common(trials)
    if common:
        parts.append(common)
    region = _region(trials, wrong)
    if region:
        parts.append(region)
    return "; ".join([*parts, *_relation(trials)]) or None


# ---- rounding ------------------------------------------------------------------------


def _rounding(trials: Sequence[Trial]) -> str | None:
    """Whether errors are as small as those of a coarser type."""
    worst = 0.0  # in units of the magnitude times sqrt(K)
    for trial in trials:
        if trial.got is None:
            return None
        for name, mask in trial.wrong.items():
            if not bool(mask.any()):  # only written past its ends
                return None
            error = (trial.got[name] - trial.setting.truth[name]).abs()[mask]
            scale = trial.size[name] * C * math.sqrt(max(1, trial.terms[name]))
            if not scale or not bool(torch.isfinite(error).all()):
                return None
            worst = max(worst, float(error.max()) / scale)
    dtype = trials[0].dtype
    if worst == 0:
        return None
    if dtype == torch.float64 and worst <= FLOAT:
        return (
            "the error is as large as float's rounding: is something kept in float in "
            "the double build (a literal with f, expf, a float variable)?"
        )
    if dtype == torch.float32 and worst <= HALF:
        return (
            "the error is as large as the rounding of half precision: are sums or "
            "operands kept in less than float?"
        )
    if worst <= NEAR * UNIT[dtype]:
        return "rounding: the sums lose more digits than adding term by term does"
    return None


def _relation(trials: Sequence[Trial]) -> list[str]:
    """Whether all that is wrong is the truth times, or plus, one number."""
    got, right = [], []
    for trial in trials:
        for name, mask in trial.wrong.items():
            if trial.got is not None:
                got.append(trial.got[name][mask])
                right.append(trial.setting.truth[name][mask].double())
    if not got or sum(len(g) for g in got) < MANY:
        return []
    mine, true = torch.cat(got), torch.cat(right)
    for words, numbers in (
        ("every wrong element is {:.6g} times the right one", mine / true),
        ("every wrong element is {:.6g} more than the right one", mine - true),
    ):
        middle = float(numbers.median())
        if bool(((numbers - middle).abs() <= CLOSE * max(1, abs(middle))).all()):
            return [words.format(middle)]
    return []


# ---- which cases ---------------------------------------------------------------------


def _over(name: str, least: float) -> Test:
    """An option that is larger along some axis."""

    def test(trial: Trial) -> bool:
        value = trial.setting.options.get(name, least)
        values = value if isinstance(value, tuple) else (value,)
        return any(v > least for v in values)

    return test


def _features() -> Iterator[tuple[str, Test]]:
    """What a case may have, in words that follow 'wrong only'."""
    yield "where an input or grad_output is a view with strides", lambda t: t.strided
    for name, least in (("stride", 1), ("dilation", 1), ("padding", 0), ("groups", 1)):
        yield f"where {name} > {least}", _over(name, least)
    yield "where there is a bias", lambda t: "bias" in t.setting.inputs
    yield "where there is no bias", lambda t: "bias" not in t.setting.inputs
    yield "where alpha is not 1", lambda t: t.setting.options.get("alpha", 1) != 1
    yield "where N > 1", lambda t: t.case.sizes.get("N", 1) > 1
    yield (
        "where shapes differ (broadcasting)",
        lambda t: len({v.shape for v in t.setting.inputs.values()}) > 1,
    )
    yield (
        "with more than two axes",
        lambda t: any(v.dim() > 2 for v in t.setting.inputs.values()),
    )
    for name, axes in (("KH and KW", "KH KW"), ("IH and IW", "IH IW")):
        yield f"where {name} differ", _differ(*axes.split())
    yield (
        "for values of very different size",
        lambda t: t.case.values == "wide",
    )
    yield (
        "where the numbers are integers",
        lambda t: t.case.values in ("integers", "short_integers"),
    )
    yield (
        "for empty tensors",
        lambda t: any(v.numel() == 0 for v in t.setting.truth.values()),
    )


def _differ(a: str, b: str) -> Test:
    return lambda t: t.case.sizes.get(a, 1) != t.case.sizes.get(b, 1)


def _common(trials: Sequence[Trial]) -> str | None:
    """The feature that separates failing cases from those that pass."""
    failed = [t for t in trials if t.failed]
    passed = [t for t in trials if not t.failed]
    if not passed:
        return "all cases are wrong"
    best: tuple[int, str] | None = None
    for words, test in _features():
        if not all(test(t) for t in failed):
            continue
        strays = sum(test(t) for t in passed)
        if strays == 0:
            return f"wrong exactly in the cases {words}"
        if strays < len(passed) and (best is None or strays < best[0]):
            best = strays, words
    return f"wrong only in cases {best[1]}, though not in all of them" if best else None


# ---- which elements ------------------------------------------------------------------


def _region(trials: Sequence[Trial], wrong: Sequence[str]) -> str | None:
    """Where in the first wrong tensor the wrong elements lie."""
    if not wrong:
        return None
    name = wrong[0]
    masks = [t.wrong[name] for t in trials if name in t.wrong]
    masks = [m for m in masks if m.dim() and m.numel() > 1 and bool(m.any())]
    if not masks or all(bool(m.all()) for m in masks):
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
                f"only the last {word}s of '{name}' are wrong, those that do not fill "
                f"a tile of {tile}"
            )
        if all(_only_at(m, back, slice(1, None)) for m in masks):
            return f"the first {word} of '{name}' is right, the others are not"
        if all(_only_at(m, back, slice(0, 1)) for m in masks):
            return f"only the first {word} of '{name}' is wrong"
    if name == "output" and dims == 4 and all(_border(t, name) for t in trials):
        return (
            f"only the border of '{name}' is wrong, where windows look past the image"
        )
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
