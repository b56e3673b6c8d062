# SPDX-License-Identifier: MIT
"""Explains the wrong numbers of a gate: which fact, or which change of the call, fits.

An explanation fits a result only if all its numbers fit. The grader takes the one
that fits most of the wrong results of all failed calls. It has a name and a sentence.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from grader.checks.gates import changed_calls, traits
from grader.checks.gates.call_again import AgainCall
from grader.checks.gates.changed_calls import Change
from grader.checks.gates.jobs import Job
from grader.checks.gates.traits import Trait, Wrong
from grader.checks.values.compare import wrong_elements
from grader.operators import Operator
from grader.runner.supervisor.gate_events import Told

FEW = 8  # failed calls that are looked at
LATE = ("more", "factor", "sign", "float")  # facts that say less than a changed call
Results = Sequence[tuple[Told, bytes]]


@dataclass(frozen=True)
class Failed:
    """One failed call: what it was, and its wrong results."""

    job: Job
    call: AgainCall
    wrong: list[Wrong]

    def fits(self, change: Change) -> list[Wrong]:
        """The wrong results that have the numbers of the changed call."""
        made = change.results(self.call)
        if made is None:
            return []
        return [
            w for w in self.wrong if w.index < len(made) and w.equals(made[w.index])
        ]


def failed(call: AgainCall, job: Job, results: Results) -> Failed | None:
    """A call whose results are tensors that can be compared; None if they are not."""
    got, kinds = [], []
    for described, data in results:
        kind = getattr(torch, described.dtype, None)
        if kind not in traits.NEAR:
            return None
        flat = torch.frombuffer(bytearray(data), dtype=kind) if data else torch.empty(0)
        if flat.numel() != torch.Size(described.sizes).numel():
            return None
        got.append(flat.double().reshape(described.sizes))
        kinds.append(kind)
    right = [one.value.double() for one in job.expected]
    named = [in_words(one.name) for one in job.expected]
    tensors = {
        n: t.movedim(call.batches[0][n], 0) if n in (call.batches or [{}])[0] else t
        for n, t in call.tensors.items()
    }
    wrong = [
        Wrong(i, got, right, named, kind, call.examples, tensors, exact=call.exact)
        for i, (one, kind, due) in enumerate(zip(got, kinds, job.expected))
        if one.shape != due.value.shape or bool(wrong_elements(one.to(kind), due).any())
    ]
    return Failed(job, call, wrong) if wrong else None


def in_words(name: str) -> str:
    """A result's name in a sentence."""
    if name.startswith("second_"):
        source = name.removeprefix("second_")
        return f"the second derivative with respect to '{source}'"
    if name == "tangent":
        return "the tangent"
    words, _, last = name.rpartition(" ")
    return f"the {words} '{last}'" if words else f"'{name}'"


def explanation(calls: Sequence[Failed], operator: Operator) -> tuple[str, str] | None:
    """The name and the sentence that fit most of the wrong results."""
    calls = calls[:FEW]
    if not calls:
        return None
    found = [[(w, list(traits.of(w))) for w in one.wrong] for one in calls]

    def having(trait: Trait) -> list[list[Wrong]]:
        return [
            [w for w, known in one if any(t.key == trait.key for t in known)]
            for one in found
        ]

    total = sum(len(one.wrong) for one in calls)
    best: tuple[Trait, list[list[Wrong]]] | None = None
    facts = list(_unlike(t for one in found for _, known in one for t in known))
    early = [t for t in facts if t.key[0] not in LATE]
    late = [t for t in facts if t.key[0] in LATE]
    first = calls[0]
    candidates = itertools.chain(
        ((t, having(t)) for t in early),
        _of_changes(calls, changed_calls.of_arguments(first.call, operator)),
        ((t, having(t)) for t in late),
        _of_changes(calls, changed_calls.of_tensors(first.call)),
    )
    for trait, fitting in candidates:
        count = sum(map(len, fitting))
        if best is None or count > sum(map(len, best[1])):
            best = trait, fitting
        if count == total:
            break
    return _said(*best, calls) if best and any(best[1]) else None


def _of_changes(
    calls: Sequence[Failed], changes: Iterator[Change]
) -> Iterator[tuple[Trait, list[list[Wrong]]]]:
    """Changes of the first call that fit there, with what they fit in all calls."""
    first, *others = calls
    for change in changes:
        if fitting := first.fits(change):
            yield change.trait, [fitting, *(_again(one, change) for one in others)]


def _again(one: Failed, change: Change) -> list[Wrong]:
    """What the same change fits in another call."""
    operator_changes = itertools.chain(
        changed_calls.of_arguments(one.call, one.call.operator),
        changed_calls.of_tensors(one.call),
    )
    same = (c for c in operator_changes if c.trait.key == change.trait.key)
    return next((fitting for c in same if (fitting := one.fits(c))), [])


def _unlike(facts: Iterator[Trait]) -> Iterator[Trait]:
    """Each fact once."""
    seen = set()
    for trait in facts:
        if trait.key not in seen:
            seen.add(trait.key)
            yield trait


def _said(
    trait: Trait, fitting: Sequence[Sequence[Wrong]], calls: Sequence[Failed]
) -> tuple[str, str]:
    """The name, and the sentence about the results that it fits."""
    number = next(i for i, some in enumerate(fitting) if some)
    job, some = calls[number].job, fitting[number]
    text = f"{subjects(some)}: {trait.clause}"
    return trait.name, text if number == 0 else f"in the case {job.name}, {text}"


def subjects(wrong: Sequence[Wrong]) -> str:
    """The results in words, at most three of them."""
    found = list(dict.fromkeys(w.named[w.index] for w in wrong))
    if len(found) > 3:
        return f"{', '.join(found[:2])} and {len(found) - 2} more results"
    *some, last = found
    return f"{', '.join(some)} and {last}" if some else last
