# SPDX-License-Identifier: MIT
"""Says in which cases an answer is wrong: what they share, or the smallest of them.

A property is reported if all failing cases have it, and no passing case has it.
Otherwise the smallest failing case is reported, with the result and the expected one.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial

import torch

from grader.checks.values.compare import position
from grader.diagnosis.match import Trial, tensors
from grader.diagnosis.mistakes import formulas
from grader.diagnosis.mistakes.mistake import listed
from grader.diagnosis.separation import FEW, separated
from grader.diagnosis.wrong_elements import indices

EXACTLY = "wrong exactly"
FEWER = 3  # times fewer right cases than wrong ones may meet a condition
ONE_AXIS = "'input' has one axis (ndim is 1)"


def common(trials: Sequence[Trial]) -> str | None:
    """What separates failing cases from those that pass; or that none passes."""
    failed = [t for t in trials if t.failed]
    wrong = set(tensors(trials))
    full = [t for t in trials if t.failed or not t.empty]
    ran = [t for t in full if t.failed or not wrong or wrong & t.setting.truth.keys()]
    if len(full) == len(failed):
        rest = ", except cases with empty tensors" if len(trials) > len(full) else ""
        text = (
            f"the grader ran {len(failed)} cases again, and all of them are wrong{rest}"
        )
        return text if len(failed) >= FEW else None
    facts = [_facts(trial) for trial in ran]
    known = {id(trial): found for trial, found in zip(ran, facts)}

    def value(word: str, trial: Trial) -> torch.Tensor | None:
        found = known[id(trial)].get(word)
        return None if found is None else torch.tensor([found])

    columns = [(word, partial(value, word)) for word in facts[0]]
    masks = [torch.tensor([trial.failed]) for trial in ran]
    rest = "" if len(ran) == len(full) else " and compute these tensors"
    ended = f"{len(failed)} of the {len(ran)} cases that were run again{rest}"
    if condition := separated(ran, masks, columns)[0]:
        return f"{EXACTLY} in the cases where {condition} ({ended})"
    condition, right = separated(ran, masks, columns, FEWER)
    return condition and (
        f"wrong only in the cases where {condition} ({ended}; right cases among these: "
        f"{right})"
    )


def _facts(t: Trial) -> dict[str, float]:
    """What a case has, in words that follow 'wrong exactly in the cases where'."""
    s, first = t.setting, next(iter(t.setting.inputs.values()))
    facts: dict[str, float] = {ONE_AXIS: "input" in s.inputs and first.dim() == 1}
    facts["an input or grad_output is a non-contiguous view"] = t.strided
    for name, value in s.options.items():
        if isinstance(value, str):
            facts |= {f"{name} is '{one}'": value == one for one in ("none", "tanh")}
            continue
        values = value if isinstance(value, tuple) else (value,)
        facts[name] = max(values)
        facts[f"{name} is not 1"] = any(one != 1 for one in values)
        if len(values) > 1:
            facts |= {f"{name}_{x}": one for x, one in zip("whd", reversed(values))}
        facts[f"{name} is not a whole number"] = any(one % 1 for one in values)
        differ = len(values) == 2 and values[0] != values[1]
        facts[f"{name}_h and {name}_w differ"] = differ
    sizes = dict(t.case.sizes)
    for name in (*s.inputs, *s.truth):
        axes = indices(s, name)
        sizes |= {axis.upper(): axes[axis] for axis in axes if len(axis) < 3}
    for a in s.operator.signature.inputs:
        there, wanted = a.name in s.inputs, f"grad_{a.name}" in s.truth
        facts |= {f"there is a {a.name}": there, f"there is no {a.name}": not there}
        unwanted = bool(s.grads) and there and not wanted
        facts[f"'grad_{a.name}' is not wanted"] = unwanted
        view = there and not s.inputs[a.name].is_contiguous()
        facts[f"'{a.name}' is a non-contiguous view"] = view
    shapes = {tensor.shape for tensor in s.inputs.values()}
    facts["shapes differ (broadcasting)"] = s.operator.name == "add" and len(shapes) > 1
    facts |= {**sizes, "the number of axes of the first input": first.dim()}
    facts["the values are of very different size"] = t.case.values == "wide"
    facts |= {"the numbers are integers": "integers" in t.case.values}
    facts |= {"a tensor is empty": t.empty}
    for tile in (2, 4, 8, 16, 32):
        facts |= {f"{size} % {tile}": n % tile for size, n in sizes.items()}
    for one, other in itertools.permutations(sizes, 2):
        facts[f"{one} > {other}"] = sizes[one] > sizes[other]
        facts[f"{one} and {other} differ"] = sizes[one] != sizes[other]
    return facts


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


def _shape(tensor: torch.Tensor) -> str:
    view = "" if tensor.is_contiguous() else f" with strides {list(tensor.stride())}"
    return f"{list(tensor.shape)}{view}"
