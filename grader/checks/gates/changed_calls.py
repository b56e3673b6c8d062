# SPDX-License-Identifier: MIT
"""Lists calls with one change: an option, or a tensor of the call.

The list does not depend on the operator. A wrong result that has the numbers of such a
call is explained by the change.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from signatures import REQUIRED

from grader.checks import named_mistakes as names
from grader.checks.gates.call_again import AgainCall, Results
from grader.checks.gates.traits import Trait, shown
from grader.operators import Operator


@dataclass(frozen=True)
class Change:
    """One change of a call."""

    trait: Trait
    tensors: Mapping[str, torch.Tensor]
    options: Mapping[str, Any]

    def results(self, call: AgainCall) -> Results | None:
        """What PyTorch gives of the changed call; None if it refuses the call."""
        try:
            return call.results(self.tensors, self.options)
        except (RuntimeError, ValueError, TypeError, LookupError):
            return None


def of_arguments(call: AgainCall, operator: Operator) -> Iterator[Change]:
    """Changes of options, and optional inputs left out."""
    yield from of_options(call, operator)
    yield from _missing(call, operator)


def of_tensors(call: AgainCall) -> Iterator[Change]:
    """Changes of one or two tensors."""
    yield from _terms(call)
    yield from _examples(call)
    yield from _pairs(call)


def _trait(key: tuple[Any, ...], name: str, condition: str) -> Trait:
    return Trait(key, name, f"these numbers result if {condition}")


def of_options(call: AgainCall, operator: Operator) -> Iterator[Change]:
    """An option at its default, two options exchanged, or an option's two numbers."""
    given = call.options
    options = operator.signature.options
    for one in options:
        value = given[one.name]
        number = one.values(one.default) if one.axes else one.default
        if one.default is not REQUIRED and number != value:
            words = f"{one.name} is {_number(number)}, but it is {_number(value)}"
            trait = _trait(("option", one.name), names.OPTION_IGNORED, words)
            yield Change(trait, call.tensors, {**given, one.name: number})
        if one.axes and len(set(value)) > 1:
            words = f"the numbers {_number(value)} of {one.name} stand in another order"
            trait = _trait(("turned", one.name), names.OPTIONS_EXCHANGED, words)
            yield Change(trait, call.tensors, {**given, one.name: value[::-1]})
    for one, two in itertools.combinations([o for o in options if o.axes], 2):
        a, b = given[one.name], given[two.name]
        if len(a) == len(b) and a != b:
            words = f"{one.name} and {two.name} are exchanged"
            key = ("options", one.name, two.name)
            trait = _trait(key, names.OPTIONS_EXCHANGED, words)
            changed = {**given, one.name: b, two.name: a}
            yield Change(trait, call.tensors, changed)


def _number(value: Any) -> str:
    """An option's value in words."""
    return str(value) if not isinstance(value, tuple) else str(list(value))


def _missing(call: AgainCall, operator: Operator) -> Iterator[Change]:
    """A call without one of the optional inputs."""
    if call.kind != "outputs":  # then its gradient would be missing as well
        return
    for argument in operator.signature.inputs:
        if argument.optional and argument.name in call.tensors:
            rest = {n: t for n, t in call.tensors.items() if n != argument.name}
            words = f"'{argument.name}' is None"
            key = ("without", argument.name)
            trait = _trait(key, names.ARGUMENT_NOT_USED, words)
            yield Change(trait, rest, call.options)


def _terms(call: AgainCall) -> Iterator[Change]:
    """One tensor replaced by 0, by 1, or with another sign or factor."""
    for name in reversed(call.tensors):  # a tangent says more than its input
        tensor = call.tensors[name]
        if not tensor.is_floating_point():
            continue
        changed = (
            ("is 0", names.TERM_MISSING, torch.zeros_like(tensor)),
            ("is 1 everywhere", names.FACTOR_MISSING, torch.ones_like(tensor)),
            ("has the other sign", names.SIGN_WRONG, -tensor),
            ("is multiplied by 2", names.TERM_SCALED, 2 * tensor),
            ("is divided by 2", names.TERM_SCALED, tensor / 2),
        )
        for words, called, value in changed:
            trait = _trait((words, name), called, f"{shown(name)} {words}")
            yield Change(trait, {**call.tensors, name: value}, call.options)


def _examples(call: AgainCall) -> Iterator[Change]:
    """One example of a tensor in place of all, or the sum, or another axis of it."""
    for axes in call.batches:
        for name, axis in axes.items():
            tensor = call.tensors[name]
            B = tensor.shape[axis]
            first = tensor.select(axis, 0).unsqueeze(axis).expand(tensor.shape)
            total = tensor.sum(axis, keepdim=True).expand(tensor.shape)
            changed = [
                (
                    f"all examples use the first example of '{name}'",
                    names.FIRST_EXAMPLE_ONLY,
                    first,
                ),
                (
                    f"all examples use the sum of '{name}' over the examples",
                    names.EXAMPLES_SUMMED,
                    total,
                ),
            ]
            for other in range(tensor.dim()):
                if other != axis % tensor.dim() and tensor.shape[other] == B:
                    words = (
                        f"axis {other} of '{name}' counts the examples, but axis "
                        f"{axis % tensor.dim()} does"
                    )
                    turned = tensor.movedim(other, axis)
                    changed.append((words, names.BATCH_AXIS_OF_OTHER, turned))
            for words, called, value in changed:
                trait = _trait((called, name, words), called, words)
                yield Change(trait, {**call.tensors, name: value}, call.options)


def _pairs(call: AgainCall) -> Iterator[Change]:
    """One tensor in another's place, or two of the same sizes exchanged."""
    pairs = [
        (a, b, call.tensors[a], call.tensors[b])
        for a, b in itertools.permutations(reversed(call.tensors), 2)
        if call.tensors[a].shape == call.tensors[b].shape
        and call.tensors[a].dtype == call.tensors[b].dtype
    ]
    for a, b, _, two in pairs:
        words = f"{shown(b)} stands in the place of {shown(a)}"
        trait = _trait(("use", a, b), names.OTHER_TENSOR_USED, words)
        yield Change(trait, {**call.tensors, a: two}, call.options)
    for a, b, one, two in pairs:
        if a > b:
            words = f"{shown(a)} and {shown(b)} are exchanged"
            trait = _trait(("swap", a, b), names.TENSORS_EXCHANGED, words)
            yield Change(trait, {**call.tensors, a: two, b: one}, call.options)
