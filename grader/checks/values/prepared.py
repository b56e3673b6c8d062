# SPDX-License-Identifier: MIT
"""Prepares a case as a call of one direction, with its expected results.

The forward and the gradient check make the same calls. Other checks use this module to
run a case again in another way.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from grader.checks.subject import DTYPES, Subject
from grader.checks.values.compare import Expected
from grader.checks.values.forward import deadline, expectations, output_dtypes, timed
from grader.checks.values.gradient import call_backward, expected_gradients, room_for
from grader.operators import Case
from grader.operators.entry import Tensors
from grader.runner.supervisor.call import Call, Output, Run


@dataclass(frozen=True)
class Prepared:
    """A call as the forward or the gradient check makes it, and what it is made of."""

    call: Call
    inputs: Tensors
    grad_outputs: list[torch.Tensor]


def prepare(
    subject: Subject, case: Case, i: int, direction: str, dtype: str, seed: int
) -> Prepared:
    """The call of case number `i`; nothing is computed but what it needs."""
    operator, kind = subject.operator, DTYPES[dtype]
    inputs = operator.inputs(case, kind, seed)
    results, seconds = timed(lambda: operator.outputs(inputs, case))
    limit = deadline(seconds)
    if direction == "backward":
        grads = operator.grad_outputs(case, results, kind, seed)
        room = room_for(subject, case, inputs, results, dtype)
        words = subject, case, inputs, room, grads, dtype
        call = call_backward(*words, deadline=3 * limit)
        return Prepared(call, inputs, grads)
    shapes = [tuple(result.shape) for result in results]
    kept = i % 3 != 2  # forward.py: NULL where no backward follows
    if operator.signature.saved and kept:
        shapes += [tuple(p[0].shape) for p in operator.saved(inputs, case) if p]
    kinds = output_dtypes(subject, kind)
    room = [Output(shape, kind) for shape, kind in zip(shapes, kinds)]
    room += [None] * (len(kinds) - len(room))
    call = subject.call(Run.FORWARD, case, inputs, room, deadline=limit)
    return Prepared(call, inputs, [])


def expected_of(
    subject: Subject, case: Case, made: Prepared, direction: str
) -> dict[int, Expected]:
    """What the outputs of a call that has run should hold, by position, but for what it
    left to others.
    """
    operator = subject.operator
    truth = operator.truth(made.inputs, case, made.grad_outputs)
    if direction == "forward":
        right = dict(enumerate(expectations(subject, case, made.inputs, truth)))
        return {
            k: e
            for k, e in right.items()
            if made.call.tensors[k] is not None and k not in subject.left
        }
    first = len(operator.signature.outputs) + len(operator.signature.saved)
    wanted = expected_gradients(subject, case, made.inputs, truth)
    positions = {first + k: e for k, e in enumerate(wanted) if e}
    return {k: e for k, e in positions.items() if k not in subject.left}
