# SPDX-License-Identifier: MIT
"""Compares the results of timed calls, while the clock is not running.

A rung that was right when it was checked must also be right when it is timed. So each
round's results are compared with PyTorch's results. About one round in eight is also
compared with the double reference.
"""

from __future__ import annotations

import random
from typing import Protocol

import torch

from grader.checks.speed import baseline
from grader.checks.subject import Subject
from grader.checks.values.compare import tolerance
from grader.checks.values.forward import expectations
from grader.checks.values.gradient import expected_gradients
from grader.operators import Case
from grader.runner.supervisor.call import Call
from grader.runner.supervisor.wire import SIDE_TENSORS

LOOK = 8  # in one of so many rounds the double reference is asked too


class Timed(Protocol):
    """What is compared: a side of a measurement that keeps its results."""

    subject: Subject
    case: Case
    data: baseline.Data
    calls: int
    call: Call

    def result(self, i: int, k: int) -> torch.Tensor:
        """Output `i` of call `k` of the last sample."""


class Wrong(Exception):
    """Right when it was checked, wrong when it was timed."""


class Watch:
    """Compares results while the clock is not running."""

    def __init__(
        self, student: Timed, pytorch: baseline.PyTorch, direction: str
    ) -> None:
        self.student, self.pytorch = student, pytorch
        self.forward = direction == "forward"
        self.rng = random.SystemRandom()  # nothing the student could work out
        self.seen = 0
        self.bounds: list[float] = []  # of each result, against PyTorch's
        self.worst = 0.0  # error, as a share of what is allowed
        self.errors = (0.0, 0.0)  # largest over largest value; the student's, PyTorch's

    def __call__(self) -> None:
        """Behind each round. Raises Wrong at the first difference, with what draws the
        round's inputs again (baseline.Data.renew).
        """
        k = self.rng.randrange(self.student.calls)
        try:
            self._compare(k)
        except Wrong as wrong:
            key = f"inputs of key {self.student.data.key:#034x}, call {k}"
            raise Wrong(f"{wrong} ({key})") from None

    def _compare(self, k: int) -> None:
        if self.seen == 0 or self.rng.randrange(LOOK) == 0:
            self._exactly(k)
        self.seen += 1
        for i, right in enumerate(self.pytorch.result_of(k)):
            self._written(self._place(i))
            got = self.student.result(self._place(i), k)
            worst = (got - right.detach()).abs().max().item() if right.numel() else 0.0
            if not worst <= self.bounds[i]:
                raise Wrong(f"a result differs from PyTorch's result by {worst:.3g}")

    def _written(self, i: int) -> None:
        """All calls of a wake have to write all of their outputs."""
        side = self.student.call.request.side[SIDE_TENSORS + i]
        if side.unwritten or side.tainted:
            raise Wrong(
                "elements of a result were never written, or computed from unwritten "
                "memory"
            )

    def _place(self, i: int) -> int:
        signature = self.student.subject.operator.signature
        if self.forward:
            return i
        skipped = len(signature.outputs) + len(signature.saved)
        return skipped + signature.gradients.index(self.pytorch.wanted[i])

    def _exactly(self, k: int) -> None:
        """Element by element against the double reference."""
        subject, case = self.student.subject, self.student.case
        inputs, grads = self.student.data.of_call(k)
        given = [] if self.forward else grads
        truth = subject.operator.truth(inputs, case, given)
        if self.forward:
            results = len(subject.operator.signature.outputs)
            expected = expectations(subject, case, inputs, truth)[:results]
        else:
            found = expected_gradients(subject, case, inputs, truth)
            expected = [e for e in found if e is not None]
        self.bounds = []
        theirs = self.pytorch.result_of(k)
        for i, right in enumerate(expected):
            got = self.student.result(self._place(i), k)
            right = right.settled(got)
            mine = _error(got, right.value)
            other = _error(theirs[i].detach(), right.value)
            self.errors = max(self.errors[0], mine), max(self.errors[1], other)
            allowed = tolerance(right, got.dtype)
            off = (got.double() - right.value).abs()
            self.worst = max(self.worst, _share(off, allowed))
            if not bool((off <= allowed).all()):
                first = int((~(off <= allowed)).flatten().nonzero()[0])
                raise Wrong(
                    f"'{right.name}' element {first} is "
                    f"{got.flatten()[first].item():.9g}, expected "
                    f"{right.value.flatten()[first].item():.9g}"
                )
            widest = float(allowed.max()) if allowed.numel() else 0.0
            self.bounds.append(4 * widest)  # both sides round, and scales differ


def _error(got: torch.Tensor, right: torch.Tensor) -> float:
    """The largest error, as a share of the largest value."""
    if not right.numel():
        return 0.0
    largest = float(right.abs().max())
    return float((got.double() - right).abs().max()) / largest if largest else 0.0


def _share(off: torch.Tensor, allowed: torch.Tensor) -> float:
    """The largest error as a share of the tolerance; exact elements count as 0."""
    shares = torch.where(off == 0, 0.0, off / allowed)
    return float(shares.max()) if shares.numel() else 0.0
