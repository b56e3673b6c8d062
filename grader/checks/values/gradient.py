# SPDX-License-Identifier: MIT
"""Checks gradients in two ways: against PyTorch in double, and by gradcheck.

The first way compares every case with the reference's gradients. The second way does
not use the reference. torch.autograd.gradcheck compares backward with finite
differences of the student's forward, and both run in the worker. PyTorch's default
tolerances would accept a gradient that is wrong by a factor of 1.001. The tolerances
here are far lower.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import torch
from torch.autograd.gradcheck import GradcheckError

from grader.checks.check_result import (
    CheckResult,
    Finding,
    Stopped,
    summarize,
    with_stop,
)
from grader.checks.subject import DTYPES, Subject
from grader.checks.values.compare import Expected, judge
from grader.checks.values.covered import Coverage
from grader.checks.values.forward import deadline, kept, output_dtypes, renew, timed
from grader.checks.values.precision import expected
from grader.operators import Case, Truth
from grader.operators.entry import Tensors
from grader.operators.layouts import lay_out
from grader.runner.supervisor.call import Call, Output, Run
from grader.verdicts import Verdict

GRADCHECK: dict[str, Any] = {"eps": 1e-6, "rtol": 1e-6, "atol": 1e-7}
NONDETERMINISM = 1e-12  # a parallel sum may end in another order
SLOW_IN_PYTHON = 100  # input elements; larger cases of lab 01 use gradcheck's fast mode


def room_for(
    subject: Subject,
    case: Case,
    inputs: Tensors,
    results: Sequence[torch.Tensor],
    dtype: str,
) -> list[Output | None]:
    """Room for a gradient call: gradients, and what forward makes if it runs."""
    operator = subject.operator
    forward = subject.gradient_bits() & Run.FORWARD
    shapes = [tuple(r.shape) for r in results]
    if operator.signature.saved:
        shapes += [tuple(pair[0].shape) for pair in operator.saved(inputs, case)]
    room: list[Output | None] = [
        Output(shape, kind) if forward else None
        for shape, kind in zip(shapes, output_dtypes(subject, DTYPES[dtype]))
    ]
    room += [None] * (len(operator.signature.saved) + len(results) - len(room))
    if subject.python:
        room[len(results) :] = [None] * len(operator.signature.saved)
    for name, wanted in zip(operator.signature.gradients, operator.wanted(case)):
        shape = tuple(inputs[name].shape) if wanted else ()
        room.append(Output(shape, DTYPES[dtype]) if wanted else None)
    return room


def call_backward(
    subject: Subject,
    case: Case,
    inputs: Tensors,
    room: list[Output | None],
    grads: Sequence[torch.Tensor],
    dtype: str,
    *,
    deadline: float,
) -> Call:
    """The call whose gradients are judged, in `room` of room_for. Forward runs before
    backward in the same call, where backward needs what forward saves.

    Where the case gives these tensors other strides, forward has a call of its own;
    where no forward of the file makes them, they are the reference's. Raises Stopped if
    forward fails.
    """
    bits = subject.gradient_bits()
    signature = subject.operator.signature
    results = [argument.name for argument in (*signature.outputs, *signature.saved)]
    layouts = [case.layout.get(name, "contiguous") for name in results]
    if signature.saved and not subject.saves:
        right = _by_reference(subject, case, inputs, dtype)
        room = [*map(_filled, right, layouts), *room[len(results) :]]
    elif not subject.python and any(name in case.layout for name in results):
        made, rest = room[: len(results)], room[len(results) :]
        forward = subject.call(Run.FORWARD, case, inputs, made, deadline=deadline)
        if finding := subject.run(forward, case, dtype):
            raise Stopped(finding)
        filled = map(_filled, forward.tensors, layouts)
        room, bits = [*filled, *rest], Run.BACKWARD
    return subject.call(bits, case, inputs, room, grads, deadline=deadline)


def _by_reference(
    subject: Subject, case: Case, inputs: Tensors, dtype: str
) -> list[torch.Tensor]:
    """The results and saved tensors of forward, as the reference has them."""
    operator, kind = subject.operator, DTYPES[dtype]
    exact = {k: v.double() if v.is_floating_point() else v for k, v in inputs.items()}
    saved = [pair[0] for pair in operator.saved(exact, case)]
    made = [*operator.outputs(exact, case), *saved]
    return [t.to(k) for t, k in zip(made, output_dtypes(subject, kind))]


def _filled(result: torch.Tensor | None, layout: str) -> Output:
    """What forward has made, as backward is given it."""
    assert result is not None
    made = lay_out(result, layout)
    return Output(tuple(made.shape), made.dtype, filled=made)


# ---- against the reference -----------------------------------------------------------


def check(subject: Subject, cases: list[Case], dtype: str, seed: int) -> CheckResult:
    """All cases in one dtype, against PyTorch's gradients in double."""
    findings: list[Finding] = []
    subject.begin()
    tried = 0
    covered = Coverage(subject, "backward")
    try:
        for case in cases:
            if not subject.operator.asks(case, "backward"):
                continue
            tried += 1
            findings += _case(subject, case, dtype, seed)
            covered.note(case)
    except Stopped as stop:
        findings = with_stop(findings, stop.finding)
    return covered.of(summarize("gradient", "backward", dtype, tried, findings))


def _case(subject: Subject, case: Case, dtype: str, seed: int) -> list[Finding]:
    """One case; at most one finding."""
    operator, kind = subject.operator, DTYPES[dtype]
    inputs = operator.inputs(case, kind, seed)
    results, seconds = timed(lambda: operator.outputs(inputs, case))
    grads = operator.grad_outputs(case, results, kind, seed)
    truth = operator.truth(inputs, case, grads)
    limit = 3 * deadline(seconds)
    room = room_for(subject, case, inputs, results, dtype)
    call = call_backward(subject, case, inputs, room, grads, dtype, deadline=limit)
    findings = _judged(subject, call, case, dtype, inputs, truth)
    if findings or not case.again:
        return findings
    inputs = operator.inputs(case, kind, seed + 1)
    grads = operator.grad_outputs(case, results, kind, seed + 1)
    if subject.saves:
        renew(subject, call, inputs, *grads)
    else:
        call = call_backward(subject, case, inputs, room, grads, dtype, deadline=limit)
    truth = operator.truth(inputs, case, grads)
    return [kept(f) for f in _judged(subject, call, case, dtype, inputs, truth)]


def _judged(
    subject: Subject,
    call: Call,
    case: Case,
    dtype: str,
    inputs: Tensors,
    truth: Truth,
) -> list[Finding]:
    """Run it and compare; at most one finding."""
    operator = subject.operator
    finding = subject.run(call, case, dtype)
    if finding:
        return [finding]
    first = len(operator.signature.outputs) + len(operator.signature.saved)
    for k, right in enumerate(expected_gradients(subject, case, inputs, truth)):
        if right is None or first + k in subject.left:
            continue
        wrong = Verdict.WRONG_GRADIENT
        found = judge(call, first + k, right, names=subject.names(), wrong=wrong)
        if found:
            return [Finding(found.verdict, found.message, case.name)]
    return []


def expected_gradients(
    subject: Subject, case: Case, inputs: Tensors, truth: Truth
) -> list[Expected | None]:
    """What each gradient should hold; None where none is wanted."""
    terms = subject.operator.terms(case, inputs)
    made: list[Expected | None] = []
    names = subject.operator.signature.gradients
    for name, value, scale in zip(names, truth.gradients, truth.gradient_scale):
        if value is None:
            made.append(None)
            continue
        sizes = scale, terms[name], truth.beyond
        made.append(expected(subject, case, f"grad_{name}", value, *sizes))
    return made


# ---- gradcheck -----------------------------------------------------------------------


class _Run:
    """The calls of one gradcheck: the same two again and again with other numbers."""

    def __init__(self, subject: Subject, case: Case, inputs: Tensors) -> None:
        self.subject, self.case = subject, case
        operator = subject.operator
        self.names = [a.name for a in operator.signature.inputs]
        results, seconds = timed(lambda: operator.outputs(inputs, case))
        self.limit = deadline(seconds)
        shapes = [tuple(r.shape) for r in results]
        kind = torch.float64
        self.results = len(results)
        self.forward = subject.call(
            Run.FORWARD,
            case,
            inputs,
            [Output(shape, kind) for shape in shapes],
            freeze=False,
            deadline=self.limit,
        )
        self.room = room_for(subject, case, inputs, results, "f64")
        self.first_gradient = len(self.room) - len(operator.signature.gradients)
        self.ones = [torch.ones(shape, dtype=kind) for shape in shapes]
        self.backward = self._backward(inputs)

    def _backward(self, inputs: Tensors) -> Call:
        words = self.subject, self.case, inputs, self.room, self.ones, "f64"
        call = call_backward(*words, deadline=3 * self.limit)
        call.request.freeze = 0
        return call

    def leaves(self, inputs: Tensors) -> set[str]:
        """The inputs whose gradients the rung leaves to others in this case."""
        given = [inputs.get(name) for name in self.names]
        self.run(self.backward, [*given, *self.ones])
        names = self.subject.operator.signature.gradients
        left = (k - self.first_gradient for k in self.subject.left)
        return {names[k] for k in left if k >= 0}

    def results_of(self, tensors: Sequence[torch.Tensor | None]) -> list[torch.Tensor]:
        """What forward makes of these inputs: the rung's own, or the reference's."""
        if not self.subject.saves:
            given = {n: t for n, t in zip(self.names, tensors) if t is not None}
            return self.subject.operator.outputs(given, self.case)
        self.run(self.forward, tensors)
        made = [t for t in self.forward.tensors if t is not None]
        return [t.clone() for t in made[: self.results]]

    def differentiate(self, tensors: Sequence[torch.Tensor | None]) -> None:
        """Run backward on these inputs and grad_outputs."""
        if self.subject.operator.signature.saved and not self.subject.saves:
            given = {n: t for n, t in zip(self.names, tensors) if t is not None}
            self.backward = self._backward(given)
        self.run(self.backward, tensors)

    def run(self, call: Call, tensors: Sequence[torch.Tensor | None]) -> None:
        """Run with these inputs and grad_outputs. Raises Stopped if it fails."""
        for i, tensor in enumerate(tensors):
            if tensor is not None:
                call.set_input(i, tensor)
        finding = self.subject.run(call, self.case, "f64")
        if finding:
            raise Stopped(finding)

    def function(self) -> Any:
        """A torch.autograd.Function whose two halves run in the worker."""
        outer = self

        class InWorker(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, *inputs: torch.Tensor | None) -> Any:
                ctx.save_for_backward(*inputs)
                results = tuple(outer.results_of(inputs))
                return results if len(results) > 1 else results[0]

            @staticmethod
            def backward(ctx: Any, *grad_outputs: torch.Tensor) -> Any:
                outer.differentiate([*ctx.saved_tensors, *grad_outputs])
                return outer.gradients()

        return InWorker

    def gradients(self) -> tuple[torch.Tensor | None, ...]:
        """The gradients of the last call, one for every input."""
        made = self.backward.tensors[self.first_gradient :]
        by_name = dict(zip(self.subject.operator.signature.gradients, made))
        found = (by_name.get(name) for name in self.names)
        return tuple(None if t is None else t.clone() for t in found)


def gradcheck(subject: Subject, cases: list[Case], seed: int) -> CheckResult:
    """torch.autograd.gradcheck in double, slow mode, on the small cases."""
    findings: list[Finding] = []
    subject.begin()
    small = [c for c in cases if c.gradcheck and subject.asks(c, "backward")]
    tried = 0
    try:
        for case in small:
            tried += 1
            found = _gradcheck_case(subject, case, seed)
            tried -= found is None
            findings += found or []
    except Stopped as stop:
        findings = with_stop(findings, stop.finding)
    return summarize("gradcheck", "backward", "f64", tried, findings)


def _gradcheck_case(subject: Subject, case: Case, seed: int) -> list[Finding] | None:
    """One case; at most one finding. None if the rung leaves all of its gradients."""
    operator = subject.operator
    inputs = operator.inputs(case, torch.float64, seed)
    wanted = dict(zip(operator.signature.gradients, operator.wanted(case)))
    run = _Run(subject, case, inputs)
    if subject.covers:
        wanted |= dict.fromkeys(run.leaves(inputs), False)
        if not any(wanted.values()):
            return None
    given: list[Any] = [
        inputs[name].detach().clone().requires_grad_(wanted.get(name, False))
        if name in inputs
        else None
        for name in run.names
    ]
    elements = sum(t.numel() for t in given if t is not None and t.requires_grad)
    try:
        torch.autograd.gradcheck(
            run.function().apply,
            given,
            fast_mode=subject.python and elements > SLOW_IN_PYTHON,
            **GRADCHECK,
            nondet_tol=NONDETERMINISM,
            check_undefined_grad=False,
            check_batched_grad=False,
            raise_exception=True,
        )
    except GradcheckError as error:
        return [Finding(Verdict.WRONG_GRADIENT, _sentence(error, run.names), case.name)]
    return []


def _sentence(error: Exception, names: list[str]) -> str:
    """gradcheck's own words, with the tensor's name for its number."""
    text = str(error)
    if "deterministic" in text:
        return (
            "backward gives different numbers for the same input: does it have a race?"
        )
    match = re.search(r"with respect to input (\d+)", text)
    if not match:
        return text.strip().split("\n")[0]
    return (
        f"the gradient of '{names[int(match[1])]}' is not the derivative of "
        f"your forward (gradcheck, finite differences within {GRADCHECK['rtol']:g})"
    )
