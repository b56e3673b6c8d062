# SPDX-License-Identifier: MIT
"""Says where in a result the wrong elements lie, and what stands there instead."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch

from grader.diagnosis.match import Trial, tolerance
from grader.diagnosis.mistakes.mistake import Setting
from grader.diagnosis.search.forms import FORMS
from grader.diagnosis.search.named_steps import CONSTANTS, PROGRAMS, given, run
from grader.diagnosis.search.sum_mistakes import numbers_of
from grader.diagnosis.separation import NONE, Column, separated

T = torch.Tensor
OfIndex = Callable[[T, int], T]  # of the values 0 ... n - 1, and n
FEWER = 20  # times fewer right elements than wrong ones may meet a condition
MANY = 8  # elements that show a relation
CLOSE = 1e-4  # how nearly they share a number
GATES = "gate (0: i, 1: o, 2: g)"
OF_INDEX: dict[str, OfIndex] = {
    "{}": lambda i, n: i,
    "{} is the last one": lambda i, n: i == n - 1,
    "{} % 2": lambda i, n: i % 2,
}


def _tiled(tile: int) -> dict[str, OfIndex]:
    """Where an index lies in tiles of this size."""
    tail = f"{{}} is behind the last full tile of {tile}"
    return {
        tail: lambda i, n: i >= n - n % tile,
        f"{{}} % {tile}": lambda i, n: i % tile,
    }


for _tile in (4, 8, 16, 32):
    OF_INDEX |= _tiled(_tile)


def indices(s: Setting, name: str) -> dict[str, int]:
    """The names of a tensor's indices, from operators.h, and their sizes."""
    grads = dict(zip(s.results, s.grads))
    shape = next(d[name] for d in (s.truth, s.inputs, grads) if name in d).shape
    name = name.removeprefix("grad_")
    if (s.operator.name, name) == ("unfold", "output"):
        form = FORMS["unfold"]
        return dict(zip(form.axes[name], numbers_of(form, s).sizes[name]))
    signature = s.operator.signature
    letters = {a.name: a.shape for a in (*signature.inputs, *signature.outputs)}
    axes = letters.get(name, "(...)").strip("()").lower().split(", ")
    if axes == ["..."]:
        return {f"index of axis {i - len(shape)}": n for i, n in enumerate(shape)}
    if axes[0] == "...":
        axes[0] = "r" if len(axes) == 2 else "b"
        last = len(shape) - len(axes) + 1
        shape = torch.Size([math.prod(shape[:last]), *shape[last:]])
    made: dict[str, int] = {}
    for axis, size in zip(axes, shape):
        blocks = {GATES: 3, "h": size // 3}  # of 3*H
        axis = {"h+ic": "column", "ic/g": "ic"}.get(axis, axis)
        made |= blocks if axis == "3*h" else {axis: size}
    return made


def values_at(trial: Trial, name: str) -> dict[str, T]:
    """What each element of a result has at its indices: the number of an input, of a
    gradient, or of a step of the formula.
    """
    kept, key = trial.setting.kept, f"values at {name}"
    if key not in kept:
        kept[key] = dict(_values_at(trial.setting, name))
    found: dict[str, T] = kept[key]
    return found


def _values_at(s: Setting, name: str) -> Iterator[tuple[str, T]]:
    own = indices(s, name)
    sizes = tuple(own.values())
    tensors = {n: t for n, t in s.inputs.items() if t.is_floating_point()}
    for n, t in {**tensors, **dict(zip(s.results, s.grads))}.items():
        axes = indices(s, n)
        if [a for a in own if axes.get(a) in (1, own[a])] == list(axes):
            there = t.double().reshape([axes.get(a, 1) for a in own])
            yield f"'{n if n in tensors else 'grad_' + n}'", there.expand(sizes)
    if s.operator.name in PROGRAMS:
        known = {*given(s), *CONSTANTS, name}
        for step, t in run(s, {}).items():
            if step in known or not isinstance(t, T) or not 0 < t.dim() <= len(own):
                continue
            if all(a in (1, b) for a, b in zip(reversed(t.shape), reversed(sizes))):
                yield f"`{step}`", t.detach().expand(sizes)


def where(trials: Sequence[Trial], name: str) -> tuple[str, int]:
    """The condition that all wrong elements of a result meet, or "", and how many right
    ones meet it too.
    """
    there = [t for t in trials if t.got is not None and name in t.got and not t.empty]
    none = {id(t): torch.zeros_like(t.setting.truth[name]).bool() for t in there}
    masks = [t.wrong.get(name, none[id(t)]) for t in there]
    if not there:
        return NONE
    columns = list(_columns(there[0], name))
    found = separated(there, masks, columns)
    return found if found != NONE else separated(there, masks, columns, FEWER)


def _columns(first: Trial, name: str) -> Iterator[Column]:
    """What may tell wrong elements from right ones: an index, or a number there."""
    for words, function in OF_INDEX.items():
        for axis in indices(first.setting, name):
            yield words.format(axis), partial(_index, name, axis, function)
    for word in values_at(first, name):
        yield word, partial(_value, name, word)
        yield f"|{word}|", partial(_value, name, word, size=True)


def _index(name: str, axis: str, of: OfIndex, trial: Trial) -> T | None:
    """A function of one index, for each element; nothing if there is no such index."""
    sizes = indices(trial.setting, name)
    if axis not in sizes:
        return None
    values = of(torch.arange(sizes[axis]), sizes[axis])
    values = values.reshape([-1 if axis == other else 1 for other in sizes])
    return values.expand(*sizes.values()).flatten()


def _running_sum(name: str, axis: str, trial: Trial) -> T | None:
    """The sum of the right elements from the first one along an axis to each one."""
    own, truth = indices(trial.setting, name), trial.setting.truth[name]
    if axis not in own:
        return None
    return truth.reshape([*own.values()]).cumsum([*own].index(axis)).flatten()


def _value(name: str, word: str, trial: Trial, *, size: bool = False) -> T | None:
    """A number at each element, or only its size."""
    values = values_at(trial, name).get(word)
    return None if values is None else (values.abs() if size else values).flatten()


def instead(trials: Sequence[Trial], name: str) -> str:
    """What all wrong elements of a result are; or ""."""
    failed = [t for t in trials if name in t.wrong]
    masks = [t.wrong[name].flatten() for t in failed]
    got = [t.got[name].flatten()[m] for t, m in zip(failed, masks) if t.got]
    if len(got) < len(failed) or sum(map(len, got)) < MANY:
        return ""
    truth = [t.setting.truth[name].flatten()[m] for t, m in zip(failed, masks)]
    room = [torch.full_like(g, tolerance(t, name, g)) for t, g in zip(failed, got)]
    mine, true, off = torch.cat(got), torch.cat(truth), torch.cat(room)
    if bool((mine == 0).all()):
        return "every wrong element is 0"
    every = f"every wrong element of '{name}'"
    others = {word: partial(_value, name, word) for word in values_at(failed[0], name)}
    for axis in indices(failed[0].setting, name):
        words = f"the sum of the right elements from {axis} = 0 up to this {axis}"
        others[words] = partial(_running_sum, name, axis)
    for word, of in others.items():
        there = [of(trial) for trial in failed]
        parts = [v[m] for v, m in zip(there, masks) if v is not None]
        if len(parts) < len(failed):
            continue
        other = torch.cat(parts)
        for words, number in (
            (f"equals {word}", other),
            (f"equals -{word}", -other),
            (f"is the right one plus {word}", true + other),
            (f"is the right one minus {word}", true - other),
        ):
            if bool(((mine - number).abs() <= off).all()):
                return f"{every} {words}"
    for words, numbers, nothing in (
        ("is {} times the right one", mine / true, "1"),
        ("is {} more than the right one", mine - true, "0"),
        ("is {} less than the right one", true - mine, "0"),
        ("is {}", mine, "0"),
    ):
        middle = float(numbers.median())
        text = f"{middle:.6g}"
        same = (numbers - middle).abs() <= CLOSE * abs(middle)
        negative = "than" in words and middle < 0
        if bool(same.all()) and text not in (nothing, "-0") and not negative:
            return f"{every} {words.format(text)}"
    return ""
