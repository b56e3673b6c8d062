# SPDX-License-Identifier: MIT
"""Says in which cases an answer is wrong: what they share, or the smallest of them.

A property is reported under three conditions. All failing cases have it, no passing
case has it, and there are at least FEW of each. Otherwise the smallest failing case is
reported, with the result and the expected result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch

from grader.checks.values.compare import position
from grader.diagnosis.match import Trial
from grader.diagnosis.mistakes import formulas

FEW = 3  # cases of each kind: with fewer, anything separates them
EXACTLY = "wrong exactly"
ONE_AXIS = "where 'input' has one axis (ndim is 1)"
Test = Callable[[Trial], bool]


def common(trials: Sequence[Trial]) -> str | None:
    """What separates failing cases from those that pass; or that none passes."""
    failed = [t for t in trials if t.failed]
    passed = [t for t in trials if not t.failed and not t.empty]
    if not passed:
        empty = any(t.empty and not t.failed for t in trials)
        rest = ", except cases with empty tensors" if empty else ""
        text = (
            f"the grader ran {len(failed)} cases again, and all of them are wrong{rest}"
        )
        return text if len(failed) >= FEW else None
    if min(len(failed), len(passed)) < FEW:
        return None
    for words, test in _features():
        if all(test(t) for t in failed) and not any(test(t) for t in passed):
            return (
                f"{EXACTLY} in the cases {words} ({len(failed)} of the "
                f"{len(failed) + len(passed)} cases that were run again)"
            )
    return None


def _features() -> Iterator[tuple[str, Test]]:
    """What a case may have, in words that follow 'wrong exactly in the cases'."""
    yield ONE_AXIS, _is_vector
    yield "where an input or grad_output is a non-contiguous view", lambda t: t.strided
    for name, least in (("stride", 1), ("dilation", 1), ("padding", 0), ("groups", 1)):
        yield f"where {name} > {least}", _over(name, least)
    yield "where there is a bias", lambda t: "bias" in t.setting.inputs
    yield "where there is no bias", lambda t: "bias" not in t.setting.inputs
    yield "where alpha is not 1", lambda t: t.setting.options.get("alpha", 1) != 1
    yield "where N > 1", lambda t: t.case.sizes.get("N", 1) > 1
    yield "where shapes differ (broadcasting)", _broadcasts
    yield (
        "with more than two axes",
        lambda t: any(v.dim() > 2 for v in t.setting.inputs.values()),
    )
    for name, axes in (("KH and KW", "KH KW"), ("IH and IW", "IH IW")):
        yield f"where {name} differ", _differ(*axes.split())
    for name in ("stride", "padding", "dilation"):
        yield f"where {name}_h and {name}_w differ", _differs_by_axis(name)
    yield "with values of very different size", lambda t: t.case.values == "wide"
    yield (
        "where the numbers are integers",
        lambda t: t.case.values in ("integers", "short_integers"),
    )
    yield (
        "with empty tensors",
        lambda t: any(not v.numel() for v in t.setting.truth.values()),
    )


def _over(name: str, least: float) -> Test:
    """An option that is larger along some axis."""

    def test(trial: Trial) -> bool:
        value = trial.setting.options.get(name, least)
        values = value if isinstance(value, tuple | list) else (value,)
        return any(v > least for v in values)

    return test


def _is_vector(trial: Trial) -> bool:
    return "input" in trial.setting.inputs and trial.setting.inputs["input"].dim() == 1


def _broadcasts(trial: Trial) -> bool:
    """Of add alone: other operators have inputs of several shapes in every case."""
    shapes = {v.shape for v in trial.setting.inputs.values()}
    return trial.setting.operator.name == "add" and len(shapes) > 1


def _differ(a: str, b: str) -> Test:
    return lambda t: t.case.sizes.get(a, 1) != t.case.sizes.get(b, 1)


def _differs_by_axis(option: str) -> Test:
    """Of two axes: a volume's options are no such pairs."""

    def test(trial: Trial) -> bool:
        value = trial.setting.options.get(option)
        return isinstance(value, tuple) and len(value) == 2 and value[0] != value[1]

    return test


# ---- one case ------------------------------------------------------------------------


def smallest(trials: Sequence[Trial]) -> str | None:
    """The failing case of the fewest numbers that gave a result, in words."""
    wrong_trials = [t for t in trials if t.got is not None and any_wrong(t)]
    if not wrong_trials:
        return None
    trial = min(
        wrong_trials, key=lambda t: sum(v.numel() for v in t.setting.inputs.values())
    )
    name = next(n for n, mask in trial.wrong.items() if bool(mask.any()))
    mask = trial.wrong[name]
    first = int(mask.flatten().nonzero()[0])
    assert trial.got is not None
    got, right = apart(
        float(trial.got[name].flatten()[first]),
        float(trial.setting.truth[name].flatten()[first]),
    )
    return (
        f"the smallest case that fails has {sizes(trial)}: "
        f"'{name}'{position(first, mask.shape)} is {got}, expected {right}"
    )


def any_wrong(trial: Trial) -> bool:
    """Whether some element is wrong: a result may only be written past its ends."""
    return any(bool(mask.any()) for mask in trial.wrong.values())


def apart(got: float, right: float) -> tuple[str, str]:
    """Two numbers in as many digits as tell them apart."""
    if got == formulas.UNWRITTEN:
        return "not written", f"{right:.6g}"
    for digits in (6, 9, 12):
        if f"{got:.{digits}g}" != f"{right:.{digits}g}":
            return f"{got:.{digits}g}", f"{right:.{digits}g}"
    return f"{got:.17g}", f"{right:.17g}"


def sizes(trial: Trial) -> str:
    """'input' of shape [3, 4], 'weight' of shape [4] and eps 0.1"""
    inputs = trial.setting.inputs
    words = [f"'{name}' of shape {_shape(tensor)}" for name, tensor in inputs.items()]
    words += [f"{name} {value}" for name, value in trial.setting.options.items()]
    return listed(words)


def listed(words: Sequence[str]) -> str:
    """a, b and c"""
    return " and ".join([*([", ".join(words[:-1])] if words[1:] else []), words[-1]])


def _shape(tensor: torch.Tensor) -> str:
    view = "" if tensor.is_contiguous() else f" with strides {list(tensor.stride())}"
    return f"{list(tensor.shape)}{view}"
