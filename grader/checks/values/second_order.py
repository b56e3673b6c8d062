# SPDX-License-Identifier: MIT
"""Checks that the gradients of lab 01 can be differentiated again, by PyTorch in
double.

There is one small case. A backward can hide work from autograd: by .data, detach or a
tensor that forward computed and saved. Then its gradients are right, but their
derivatives are wrong. A backward that is marked once_differentiable has no second
derivatives. This is right too.
"""

from __future__ import annotations

import torch

from grader.checks.check_result import CheckResult, Finding, Stopped, summarize
from grader.checks.subject import Subject
from grader.checks.values.compare import Expected, judge
from grader.checks.values.prepared import prepare
from grader.operators import Case
from grader.operators.entry import Tensors
from grader.runner.supervisor.call import Run
from grader.runner.worker.second import second_derivatives
from grader.verdicts import Verdict

DTYPE = "f64"
TERMS = 10_000  # a sum of gradients, of sums: far more than any of them has
ADVICE = (
    "the gradients are right, but the derivatives of backward are wrong "
    "(torch.autograd.grad with create_graph=True). Build the gradients from the "
    "arguments of forward and from grad_output, without .data, detach or a tensor "
    "that forward computed. Or mark backward with "
    "@torch.autograd.function.once_differentiable"
)
REFUSES = "marked with @once_differentiable"  # the worker says so


def check(subject: Subject, cases: list[Case], seed: int) -> CheckResult:
    """The first small case that wants every gradient."""
    case = next(case for case in cases if case.gradcheck and case.wanted is None)
    findings: list[Finding] = []
    subject.begin()
    try:
        findings = _case(subject, case, seed)
    except Stopped as stop:
        findings = [stop.finding]
    return summarize("second", "backward", DTYPE, 1, findings)


def _case(subject: Subject, case: Case, seed: int) -> list[Finding]:
    made = prepare(subject, case, 0, "backward", DTYPE, seed)
    made.call.request.run |= Run.SECOND
    finding = subject.run(made.call, case, DTYPE)
    if finding and REFUSES in finding.message:
        return []  # nobody gets a wrong number of it
    if finding:
        return [finding]
    right = _expected(subject, case, made.inputs, made.grad_outputs)
    for k, expected in right.items():
        wrong = Verdict.WRONG_GRADIENT
        found = judge(made.call, k, expected, names=subject.names(), wrong=wrong)
        if found:
            text = f"{found.message}; {ADVICE}"
            return [Finding(found.verdict, text, case.name)]
    return []


def _expected(
    subject: Subject, case: Case, inputs: Tensors, grad_outputs: list[torch.Tensor]
) -> dict[int, Expected]:
    """What PyTorch's derivatives of its gradients are, by where the worker leaves them:
    those by an input in place of its gradient, those by grad_output in place of output.
    """
    operator, signature = subject.operator, subject.operator.signature
    leaves = {
        name: tensor.detach().clone().requires_grad_(tensor.is_floating_point())
        for name, tensor in inputs.items()
    }
    grads = [grad.detach().clone().requires_grad_() for grad in grad_outputs]
    arguments = [leaves.get(argument.name) for argument in signature.inputs]
    result = operator.reference(*arguments, **signature.resolve(case.options))
    results = list(result) if isinstance(result, tuple) else [result]
    wanted = [
        (k, leaves[name])
        for k, (name, want) in enumerate(
            zip(signature.gradients, operator.wanted(case))
        )
        if want
    ]
    by = [leaf for _, leaf in wanted]
    gradients = torch.autograd.grad(results, by, grads, create_graph=True)
    found = second_derivatives(gradients, [*by, *grads])
    first = len(signature.outputs) + len(signature.saved)
    places = [first + k for k, _ in wanted] + list(range(len(grads)))
    names = [signature.gradients[k] for k, _ in wanted]
    names += [f"grad_{argument.name}" for argument in signature.outputs]
    return {
        place: Expected(
            f"second derivative by {name}",
            value.detach(),
            torch.full_like(value, 1 + float(value.detach().abs().max())),
            TERMS,
        )
        for place, name, value in zip(places, names, found)
    }
