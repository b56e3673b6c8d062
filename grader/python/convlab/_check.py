# SPDX-License-Identifier: MIT
"""Checks with ``convlab.check`` whether your function computes an operator.

It compares a function in this process with the grader's right answers, on the grader's
cases and with its tolerances. Nothing is built, no sandbox is used, no points are
given. It is for trying things out; `make grade` judges.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from signatures import REQUIRED, SIGNATURES, Signature
from torch.autograd.gradcheck import GradcheckError

from grader import operators
from grader.checks.check_result import IN_FULL
from grader.checks.subject import DTYPES, EVERYWHERE, Subject
from grader.checks.values import forward, gradient
from grader.checks.values.compare import Expected, mismatch
from grader.course.rungs import DIRECT, NUMERICS
from grader.operators import Case
from grader.operators.entry import Tensors
from grader.verdicts import Verdict


@dataclass(frozen=True)
class Line:
    """One check in one dtype: what came of it."""

    name: str  # forward, gradient, gradcheck
    dtype: str  # f32, f64
    verdict: Verdict
    cases: int  # tried
    failed: int = 0
    message: str = ""  # the first wrong case in words
    shapes: str = ""  # and its inputs

    def __str__(self) -> str:
        count = f"{self.failed} of {self.cases}" if self.failed else f"{self.cases}"
        dtype = IN_FULL[self.dtype]
        text = f"{self.name:<9}  {dtype}  {self.verdict.value}  {count} cases"
        return "\n    ".join(part for part in (text, self.message, self.shapes) if part)


@dataclass(frozen=True)
class Report:
    """What ``check`` found; true if everything passed."""

    operator: str
    seed: int
    lines: tuple[Line, ...]

    def __bool__(self) -> bool:
        return all(line.verdict is Verdict.PASS for line in self.lines)

    def __repr__(self) -> str:
        head = f"{self.operator}, seed {self.seed}: {'right' if self else 'not right'}"
        return "\n".join([head, *(f"  {line}" for line in self.lines)])


class _Wrong(Exception):
    """A case failed; the verdict and the sentence."""

    def __init__(self, verdict: Verdict, sentence: str) -> None:
        super().__init__(sentence)
        self.verdict = verdict


def check(
    function: Callable[..., Any],
    name: str,
    seed: int | None = None,
    *,
    backward: bool = True,
    numerics: str = DIRECT,
) -> Report:
    """Compare a function with PyTorch on the cases of operator `name`.

    It takes the operator's tensors and options as `convlab.operators()` shows them and
    returns the result, or a tuple of results. A seed repeats a run; backward=False
    leaves gradients out; numerics="winograd" allows what that algorithm rounds.
    """
    if numerics not in NUMERICS:
        listed = ", ".join(NUMERICS)
        raise ValueError(f"numerics is {numerics!r}, expected one of {listed}")
    if name not in SIGNATURES:
        listed = ", ".join(SIGNATURES)
        raise ValueError(f"no operator is called {name!r}; the operators are: {listed}")
    seed = secrets.randbelow(1_000_000) if seed is None else seed
    trial = _Trial(function, name, seed)
    trial.subject.numerics = numerics
    lines = [trial.line("forward", dtype) for dtype in EVERYWHERE]
    if backward:
        lines += [trial.line("gradient", dtype) for dtype in EVERYWHERE]
        if all(line.verdict is Verdict.PASS for line in lines):
            lines.append(trial.line("gradcheck", "f64"))
    return Report(name, seed, tuple(lines))


class _Trial:
    """One function on the cases of one operator."""

    def __init__(self, function: Callable[..., Any], name: str, seed: int) -> None:
        self.function = function
        self.operator = operators.get(name)
        self.seed = seed
        self.subject = Subject(self.operator)  # without workers: it lends its words
        self.cases = self.operator.cases(seed)

    def line(self, name: str, dtype: str) -> Line:
        """All cases of one check."""
        run = {"forward": self._forward, "gradient": self._gradient}.get(name)
        run = run or self._gradcheck
        failures: list[tuple[Verdict, str, str]] = []
        tried = 0
        for i, case in enumerate(self.cases):
            direction = "forward" if name == "forward" else "backward"
            if not self.operator.asks(case, direction):
                continue
            if name == "gradcheck" and not case.gradcheck:
                continue
            tried += 1
            inputs = self.operator.inputs(case, DTYPES[dtype], self.seed)
            try:
                run(case, inputs, i)
            except _Wrong as wrong:
                text = f"{case.name}: {wrong}"
                failures.append((wrong.verdict, text, _case_words(case, inputs)))
                if wrong.verdict is Verdict.NOT_IMPLEMENTED:
                    break
        if not failures:
            return Line(name, dtype, Verdict.PASS, tried)
        return Line(name, dtype, failures[0][0], tried, len(failures), *failures[0][1:])

    def _call(self, case: Case, inputs: Tensors, i: int) -> list[torch.Tensor]:
        """The function's results; whatever it raises becomes a sentence."""
        signature = self.operator.signature
        given = [inputs.get(argument.name) for argument in signature.inputs]
        positional, named = _arguments(signature, case, short=bool(i % 2))
        try:
            result = self.function(*given, *positional, **named)
        except Exception as error:
            raise _raised(error) from error
        results = list(result) if isinstance(result, (tuple, list)) else [result]
        wanted = len(signature.outputs)
        if len(results) != wanted or not all(
            isinstance(one, torch.Tensor) for one in results
        ):
            kinds = ", ".join(type(one).__name__ for one in results)
            raise _Wrong(
                Verdict.WRONG_CONTRACT, f"{wanted} tensors were expected, got {kinds}"
            )
        return results

    def _forward(self, case: Case, inputs: Tensors, i: int) -> None:
        truth = self.operator.truth(inputs, case, [])
        right = forward.expectations(self.subject, case, inputs, truth)
        with torch.no_grad():
            results = self._call(case, inputs, i)
        dtype = next(iter(inputs.values())).dtype
        for got, expected in zip(results, right):
            _compare(got, expected, dtype, Verdict.WRONG_VALUE)

    def _gradient(self, case: Case, inputs: Tensors, i: int) -> None:
        wanted = dict(
            zip(self.operator.signature.gradients, self.operator.wanted(case))
        )
        leaves = {
            name: tensor.detach().requires_grad_(wanted.get(name, False))
            for name, tensor in inputs.items()
        }
        results = self._call(case, leaves, i)
        dtype = next(iter(inputs.values())).dtype
        outputs = self.operator.outputs(inputs, case)
        for argument, got, theirs in zip(
            self.operator.signature.outputs, results, outputs
        ):
            shape = tuple(theirs.shape)
            _look_at(argument.name, got, shape, dtype, Verdict.WRONG_GRADIENT)
        if not all(result.requires_grad for result in results):
            raise _Wrong(
                Verdict.WRONG_GRADIENT,
                "the result has no gradient function (was it detached, or made from "
                "plain numbers?)",
            )
        grads = self.operator.grad_outputs(case, outputs, dtype, self.seed)
        truth = self.operator.truth(inputs, case, grads)
        expected = gradient.expected_gradients(self.subject, case, inputs, truth)
        sought = [leaves[name] for name in leaves if wanted.get(name)]
        names = [name for name in leaves if wanted.get(name)]
        try:
            found = torch.autograd.grad(results, sought, grads, allow_unused=True)
        except Exception as error:
            raise _raised(error) from error
        by_name = dict(zip(names, found))
        for name, right in zip(self.operator.signature.gradients, expected):
            if right is not None:
                _compare(by_name[name], right, dtype, Verdict.WRONG_GRADIENT)

    def _gradcheck(self, case: Case, inputs: Tensors, i: int) -> None:
        signature = self.operator.signature
        wanted = dict(zip(signature.gradients, self.operator.wanted(case)))
        given: list[Any] = [
            inputs[a.name].detach().clone().requires_grad_(wanted.get(a.name, False))
            if a.name in inputs
            else None
            for a in signature.inputs
        ]

        def run(*tensors: Any) -> Any:
            named = {a.name: t for a, t in zip(signature.inputs, tensors)}
            present = {name: t for name, t in named.items() if t is not None}
            return tuple(self._call(case, present, i))

        try:
            torch.autograd.gradcheck(
                run,
                given,
                **gradient.GRADCHECK,
                nondet_tol=gradient.NONDETERMINISM,
                check_undefined_grad=False,
            )
        except GradcheckError as error:
            first = str(error).strip().split("\n")[0]
            sentence = f"not the derivative of your forward: {first}"
            raise _Wrong(Verdict.WRONG_GRADIENT, sentence) from error


def _look_at(
    name: str,
    got: torch.Tensor | None,
    shape: tuple[int, ...],
    dtype: torch.dtype,
    wrong: Verdict,
) -> torch.Tensor:
    """A tensor of this shape and dtype, or _Wrong."""
    if got is None:
        raise _Wrong(wrong, f"'{name}' is None, expected a tensor {shape}")
    if tuple(got.shape) != shape:
        raise _Wrong(wrong, f"'{name}' has shape {tuple(got.shape)}, expected {shape}")
    if got.dtype != dtype:
        raise _Wrong(wrong, f"'{name}' is {got.dtype}, expected {dtype}")
    return got


def _compare(
    got: torch.Tensor | None, expected: Expected, dtype: torch.dtype, wrong: Verdict
) -> None:
    shape = tuple(expected.value.shape)
    tensor = _look_at(expected.name, got, shape, dtype, wrong)
    if sentence := mismatch(tensor.detach(), expected):
        raise _Wrong(wrong, sentence)


def _raised(error: Exception) -> _Wrong:
    if isinstance(error, _Wrong):
        return error
    if isinstance(error, NotImplementedError):
        return _Wrong(Verdict.NOT_IMPLEMENTED, str(error) or "not written yet")
    lines = str(error).strip().splitlines() or ["no message"]
    return _Wrong(Verdict.CRASH, f"{type(error).__name__}: {lines[0]}")


def _arguments(
    signature: Signature, case: Case, *, short: bool
) -> tuple[list[Any], dict[str, Any]]:
    """Options by position, or, if `short`, by name and no default among them."""
    values = signature.resolve(case.options)
    if short:
        return [], {
            o.name: values[o.name]
            for o in signature.options
            if o.default is REQUIRED or o.values(o.default) != o.values(values[o.name])
        }
    positional = [values[o.name] for o in signature.options if not o.keyword_only]
    return positional, {
        o.name: values[o.name] for o in signature.options if o.keyword_only
    }


def _case_words(case: Case, inputs: Tensors) -> str:
    """A case in one line: shapes, layouts, options."""
    parts = [
        f"{name} {tuple(tensor.shape)}"
        + (f" {case.layout[name]}" if name in case.layout else "")
        for name, tensor in inputs.items()
    ]
    parts += [f"{name}={value}" for name, value in case.options.items()]
    return f"with {', '.join(parts)}"
