# SPDX-License-Identifier: MIT
"""Makes mistakes of the edits of sums of products, and finds the one that fits."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import torch

from grader.diagnosis.match import Trial, name_of
from grader.diagnosis.mistakes.formulas import UNWRITTEN
from grader.diagnosis.mistakes.mistake import Formula, Mistake, OfTensor, Setting
from grader.diagnosis.search import searched
from grader.diagnosis.search.edits import edits
from grader.diagnosis.search.forms import FORMS
from grader.diagnosis.search.summed_operator import Form
from grader.diagnosis.search.sums import Numbers, Sum, evaluate, loops_of
from grader.diagnosis.search.term_weights import weighted

BIAS = "bias"
FIRST = 1 << 15  # products of the smallest failing case: every edit is tried on it
ALONE = "without bias"
LEFT = ("bias", "zero", "old")  # what an element holds to which no product is added


def named(operator: str, trials: Sequence[Trial]) -> list[tuple[str, Mistake]]:
    """A mistake for each wrong tensor, or nothing; `trials` are sorted by size."""
    if _all_large(FORMS[operator], trials):
        return []
    form = FORMS[operator]
    numbers = functools.partial(numbers_of, form)
    return name_of(functools.partial(mistakes_of, operator), trials) or name_of(
        lambda name: list(weighted(form, name, trials, numbers)), trials
    )


def _all_large(form: Form, trials: Sequence[Trial]) -> bool:
    """Whether each failing case has too many products to try every edit on it."""
    loops, failed = loops_of(form.products), [t.setting for t in trials if t.failed]
    counts = ([numbers_of(form, s).ranges[loop] for loop in loops] for s in failed)
    return all(math.prod(count) > FIRST for count in counts)


def known(operator: str, name: str, sentence: str, *keys: str | Formula) -> Mistake:
    """A known mistake as edits. Each key has the tensor that is wrong in front, for
    example "grad_weight no input"; "*" stands for anything.
    """
    made = [one for key in keys for one in _selected(operator, key)]
    assert made, name
    return Mistake(name, sentence, tuple(made))


def _selected(operator: str, key: str | Formula) -> Iterator[Formula]:
    """The formulas of all edits that a key selects."""
    if not isinstance(key, str):
        yield key
        return
    for result in _results(FORMS[operator]):
        for edit in _edits(operator, result):
            if _selects(key, edit.key):
                yield from edit.formulas


def _selects(key: str, other: str) -> bool:
    """Whether a key with "*" selects another one."""
    alike = key.startswith(ALONE) == other.startswith(ALONE)
    return alike and fnmatchcase(other, key)


def _results(form: Form) -> list[str]:
    """The names of all tensors that an operator computes."""
    tensors = {**form.products.tensors, **(form.bias.tensors if form.bias else {})}
    return [name if name == "output" else f"grad_{name}" for name in tensors]


@dataclass(frozen=True)
class Found:
    """An edit of one tensor, and its formulas."""

    key: str  # "bias" in front stands for the bias of the output
    kind: str
    words: str
    formulas: tuple[Formula, ...]


@functools.cache
def mistakes_of(operator: str, name: str) -> tuple[Mistake, ...]:
    """The searched edits of the sums that a result of an operator consists of."""
    return tuple(
        searched(edit.kind, _said(edit.words, name), edit.formulas)
        for edit in _edits(operator, name)
        if edit.kind
    )


@functools.cache
def _edits(operator: str, name: str) -> tuple[Found, ...]:
    """The edits of the sums that a result of an operator consists of."""
    form, target = FORMS[operator], name.removeprefix("grad_")
    made = []
    for sum_ in (form.products, form.bias):
        if not sum_ or target not in sum_.tensors:
            continue
        label = BIAS if target == "output" and sum_ is form.bias else name
        for edit in edits(sum_, target, form):
            found = tuple(_formulas(form, sum_, edit.sum_, name))
            made.append(Found(f"{label} {edit.key}", edit.kind, edit.words, found))
            if label == "output" and form.bias:
                found = tuple(_formulas(form, sum_, edit.sum_, name, (ALONE,)))
                made.append(Found(f"{ALONE} {edit.key}", "", "", found))
    return tuple(made)


def _said(words: str, name: str) -> str:
    """Backward, with the names of gradients."""
    if name == "output":
        return words
    target = name.removeprefix("grad_")
    of_gradients = words.replace("'output'", "'grad_output'")
    return of_gradients.replace(f"'{target}'", f"'{name}'")


def _formulas(
    form: Form, right: Sum, wrong: Sum, name: str, left: Sequence[str] = LEFT
) -> Iterator[Formula]:
    """What a wrong sum may leave in memory, and where it may read."""
    padded, target = right.padded, name.removeprefix("grad_")
    moved = padded and wrong.tensors[padded] != right.tensors[padded]
    tail = wrong.tail and wrong.tail.tensor == target
    loops = wrong.skipped or wrong.ranges or wrong.tiles or wrong.kept or wrong.sizes
    some = loops or tail or wrong.tensors[target] != right.tensors[target]
    if not some or right is form.bias:
        left = left[:1]
    for outside in ("zeros", "memory") if moved or wrong.ranges else (wrong.outside,):
        changed = replace(wrong, outside=outside)
        for rest in left:
            if rest != "zero" or (target == "output" and form.bias):
                made = functools.partial(answer, form, right, changed, name, rest)
                yield OfTensor(name, made)


def answer(
    form: Form, right: Sum, wrong: Sum, name: str, rest: str, s: Setting
) -> torch.Tensor:
    """The result of a wrong sum; an output is the result of the other sum besides."""
    target, of_bias = name.removeprefix("grad_"), BIAS in s.inputs
    if right is form.bias and not of_bias:
        return s.truth[name]
    untouched = UNWRITTEN if rest in LEFT[1:] else 0.0
    if wrong.tail and wrong.tail.tensor == target:
        made = wrong.tail.less(_alone(form, right, s, target), untouched)
    else:
        made = evaluate(wrong, numbers_of(form, s), target, untouched=untouched)
    if target == "output" and of_bias and rest != ALONE:
        other = form.products if right is form.bias else form.bias
        assert other is not None
        made = made + _alone(form, other, s, target)
    if rest == "zero":
        made = torch.where(made == UNWRITTEN, 0.0, made)
    return made.reshape(s.truth[name].shape)


def _alone(form: Form, sum_: Sum, s: Setting, target: str) -> torch.Tensor:
    """The result of a right sum, made once."""
    key = "bias alone" if sum_ is form.bias else f"products of {target}"
    if key not in s.kept:
        s.kept[key] = evaluate(sum_, numbers_of(form, s), target)
    made: torch.Tensor = s.kept[key]
    return made


def numbers_of(form: Form, s: Setting) -> Numbers:
    """The numbers of a case, made once."""
    if "numbers" not in s.kept:
        s.kept["numbers"] = form.numbers(s)
    made: Numbers = s.kept["numbers"]
    return made
