# SPDX-License-Identifier: MIT
"""Searches which terms of a sum are missing, or count with another factor.

The terms are grouped by a loop: the last one, all from k = 64 on, all with an odd row.
The smallest failing case tells the factor of a group. match.py proves it in all cases.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import torch

from grader.diagnosis.match import Trial, tolerance
from grader.diagnosis.mistakes.mistake import Mistake, OfTensor, Setting
from grader.diagnosis.search import searched
from grader.diagnosis.search.edits import summed
from grader.diagnosis.search.summed_operator import Form, plain
from grader.diagnosis.search.sums import Numbers, Sum, evaluate

T = torch.Tensor
Loops = tuple[str, ...]
Group = tuple[str, int]  # a condition and its number
PAIR = ("kh", "kw")  # a kernel position
TILES = (2, 4, 8, 16, 32, 64)
SOME = 4  # failing cases that tell the factors
MOST = 1 << 24  # additions to sum all groups of the smallest case
SURE = 4  # elements that prove any factor; fewer prove only a usual one
CLOSE = 1e-5
USUAL = {0.0: "are missing", 2.0: "count twice", -1.0: "have the wrong sign"}
CONDITIONS: dict[str, Callable[[T, int, int], T]] = {  # of iteration j of n
    "{j} = {t}": lambda j, n, t: j == t,
    "{j} = {n} - {t}": lambda j, n, t: j == n - t,
    "{j} = {n} // {t}": lambda j, n, t: j == n // t,
    "{j} >= {t}": lambda j, n, t: j >= t,
    "{j} < {t}": lambda j, n, t: j < t,
    "{j} % {t} = 0": lambda j, n, t: j % t == 0,
    "{j} % {t} = 0, but not {j} = 0,": lambda j, n, t: (j % t == 0) & (j > 0),
    "{j} % {t} = {t} - 1": lambda j, n, t: j % t == t - 1,
    "{j} >= {n} - {n} % {t}, where {n} > {t},": (
        lambda j, n, t: (j >= n - n % t) & (n > t)
    ),
}


def weighted(
    form: Form, name: str, trials: Sequence[Trial], numbers_of: partial[Numbers]
) -> Iterator[Mistake]:
    """The groups of terms whose factor makes the smallest failing cases of a tensor."""
    every = (t for t in trials if name in t.wrong and t.got is not None)
    failed = list(itertools.islice(every, SOME))
    for sum_ in (form.products, form.bias):
        if not sum_ or name.removeprefix("grad_") not in sum_.tensors:
            continue
        loops = [(loop,) for loop in summed(sum_, name.removeprefix("grad_"))]
        for some in (*loops, *([PAIR] if {(i,) for i in PAIR} <= {*loops} else [])):
            found: dict[Group, float] | None = None
            for trial in failed:
                factors = _factors(trial, name, sum_, some, numbers_of(trial.setting))
                if found is None or factors is None:
                    found = factors if found is None else found
                    continue
                found = {k: f for k, f in found.items() if k in factors}
            j = some[0] if len(some) == 1 else "kh*KW + kw"
            for group, factor in (found or {}).items():
                terms = group[0].format(j=j, n="*".join(some).upper(), t=group[1])
                counts = USUAL.get(factor, f"count {factor:.6g} times")
                words = f"a sum in which the terms with {terms} {counts}"
                answer = partial(_answer, sum_, some, group, factor, name, numbers_of)
                kind = "factor_wrong" if factor else "loop_short"
                yield searched(kind, words, [OfTensor(name, answer)])


def _factors(
    trial: Trial, name: str, sum_: Sum, loops: Loops, numbers: Numbers
) -> dict[Group, float] | None:
    """The factors of all groups that make the numbers of one case; None if the case is
    too large.
    """
    truth = trial.setting.truth[name].flatten()
    sizes = tuple(numbers.ranges[loop] for loop in loops)
    count = math.prod(sizes)
    groups = [
        (condition, number)
        for condition in CONDITIONS
        for number in (TILES if "%" in condition or "//" in condition else range(count))
    ]
    more = (trial.got or {})[name].flatten() - truth
    if len(truth) * len(groups) * count > MOST:
        return None
    there = set(sum_.tensors) <= {*trial.setting.inputs, "output"}
    if not there or not more.isfinite().all():
        return {}
    target = name.removeprefix("grad_")
    indices = (*sum_.tensors[target], *plain(*loops))
    apart = replace(sum_, tensors={**sum_.tensors, target: indices})
    size = {**numbers.sizes, target: (*numbers.sizes[target], *sizes)}
    terms = evaluate(apart, replace(numbers, sizes=size, known={}), target)
    sums = torch.stack([_mask(one, sizes).flatten() for one in groups])
    sums = sums @ terms.reshape(-1, count).mT  # (groups, elements)
    factors = 1 + (sums @ more) / (sums * sums).sum(1).clamp(min=1e-300)
    off = (more - (factors - 1)[:, None] * sums).abs().amax(1)
    found = {}
    for at in (off <= tolerance(trial, name, truth)).nonzero().flatten().tolist():
        factor = float(factors[at])
        usual = min(USUAL, key=lambda one: abs(one - factor))
        if abs(usual - factor) < CLOSE:
            found[groups[at]] = usual
        elif int((sums[at] != 0).sum()) >= SURE:
            found[groups[at]] = factor
    return found


def _mask(group: Group, sizes: Sequence[int]) -> T:
    """1 for the iterations of a group."""
    count = math.prod(sizes)
    found = CONDITIONS[group[0]](torch.arange(count), count, group[1])
    return found.double().reshape(tuple(sizes))


def _answer(
    sum_: Sum,
    loops: Loops,
    group: Group,
    factor: float,
    name: str,
    numbers_of: partial[Numbers],
    s: Setting,
) -> T:
    """The right numbers, but with another factor of a group."""
    truth, numbers, key = s.truth[name], numbers_of(s), f"{loops} {group}"
    if not set(sum_.tensors) <= {*s.inputs, "output"}:
        return truth
    mask = _mask(group, [numbers.ranges[loop] for loop in loops])
    chosen = replace(sum_, tensors={**sum_.tensors, key: plain(*loops)})
    tensors = {**numbers.tensors, key: mask}
    sizes = {**numbers.sizes, key: tuple(mask.shape)}
    some = replace(numbers, tensors=tensors, sizes=sizes)
    terms = evaluate(chosen, some, name.removeprefix("grad_"))
    return truth + (factor - 1) * terms.reshape(truth.shape)
