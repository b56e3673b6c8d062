# SPDX-License-Identifier: MIT
"""Asks a function of tensor_view.h in its worker, and compares its answers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from signatures import SIGNATURES
from signatures.views import VIEWS

from grader.checks import outcomes
from grader.checks.check_result import CheckResult, Finding, summarize
from grader.checks.views import told
from grader.checks.views.dlpack import MAX_DIMS, Lending
from grader.checks.views.placing import DTYPES, Layout
from grader.checks.views.questions import LONGEST, Question
from grader.runner.supervisor import wire
from grader.runner.supervisor.call import Call, Output, Run
from grader.runner.supervisor.session import Outcome, Worker
from grader.verdicts import Verdict

SECONDS = 5.0  # for a call; it takes microseconds
ALL = 60.0  # and for all calls about a function
ANSWER = 6 + 2 * LONGEST  # numbers that come back
LENT = ("device_type", "device_id", "ndim", "code", "bits", "lanes", "byte_offset")


@dataclass(frozen=True)
class Given:
    """What a function answered: numbers in the order of view_calls.c."""

    numbers: tuple[int, ...]

    @property
    def refused(self) -> bool:
        """Whether it said STATUS_INVALID_ARGUMENT."""
        return self.numbers[0] == wire.STATUS_INVALID_ARGUMENT

    @property
    def kept(self) -> bool:
        """Whether the input is as it was."""
        return self.numbers[1] == 1

    def layout(self) -> Layout | None:
        """The view; None if some of its words were not written."""
        start, dtype, device, axes = self.numbers[2:6]
        if not (0 <= axes <= MAX_DIMS and 0 <= dtype < len(DTYPES)):
            return None
        size, stride = self.numbers[6 : 6 + axes], self.numbers[6 + LONGEST :]
        return Layout(tuple(size), tuple(stride[:axes]), start, dtype, device)


def check(library: Path, function: str, questions: Sequence[Question]) -> CheckResult:
    """All questions about a function, the smallest first: the first that is answered
    wrongly speaks for it.
    """
    number = len(SIGNATURES) + VIEWS.index(function)
    findings: list[Finding] = []
    end = time.monotonic() + ALL
    with Worker.for_library(library, library, number) as worker:
        outcome = worker.wait_ready()
        ended = _ended(worker, outcome, "") or outcomes.of_status(worker, "")
        for asked in () if ended else questions:
            answer = _ask(worker, number, asked, end)
            if isinstance(answer, Finding):
                ended = answer
                break
            if wrong := _compared(asked, answer):
                findings.append(wrong)
    found = [ended, *findings] if ended else findings
    return summarize(function, "forward", "", len(questions), found)


def _ended(worker: Worker, outcome: Outcome, said: str) -> Finding | None:
    """What ended a worker that did not come back; None if it did."""
    if outcome is Outcome.RETURNED:
        return None
    names = [""] * wire.MAX_TENSORS
    found = outcomes.of_outcome(worker, outcome, "", names, SECONDS)
    text = f"{said}: {found.message}" if said else found.message
    if found.verdict is Verdict.CRASH and "memory that is not there" in text:
        text += "; a view is made of sizes and strides, no element can be read here"
    return Finding(found.verdict, text, location=found.location)


def _ask(worker: Worker, number: int, asked: Question, end: float) -> Given | Finding:
    """One call: an answer, or why there is none."""
    if time.monotonic() > end:
        return Finding(Verdict.TIMEOUT, f"all calls together took over {ALL:.0f} s")
    sent = [torch.tensor(numbers, dtype=torch.int64) for numbers in asked.sent]
    output = Output((ANSWER,), torch.int64)
    call = Call(number, Run.FORWARD, sent, [output], deadline=SECONDS)
    if found := _ended(worker, worker.run(call), str(asked)):
        return found
    if found := outcomes.of_status(worker, ""):
        if found.verdict is Verdict.NOT_IMPLEMENTED:
            return found
        return Finding(found.verdict, f"{asked}: {found.message}")
    numbers = call.tensors[0]
    assert numbers is not None
    return Given(tuple(numbers.tolist()))


def _compared(asked: Question, given: Given) -> Finding | None:
    """What is wrong with an answer; None if nothing is."""
    if isinstance(asked, Lending):
        text = _lent(asked, given)
    else:
        right, said = asked.answer()
        text = told.difference(asked, given.refused, given.layout(), right, said)
    if not text and not given.kept:
        text = "wrote to *input, which is const"
    return Finding(Verdict.WRONG_VALUE, f"{asked}: {text}") if text else None


def _lent(asked: Lending, given: Given) -> str:
    """The same of a struct that was filled to lend a tensor."""
    if given.refused:
        return "refused; PyTorch lends every tensor"
    _, _, data, *rest, own_shape, own_strides = given.numbers[: len(LENT) + 5]
    got = dict(zip(LENT, rest))
    for name, right in asked.lent().items():
        if got[name] != right:
            return f"{name} is {told.number(got[name])}, expected {right}"
    if asked.given.numel and data != asked.given.start:
        return f"data lies {data - asked.given.start} bytes from input's first element"
    if asked.given.size and not (own_shape and own_strides):
        name = "strides" if own_shape else "shape"
        own = {"shape": "size", "strides": "stride"}[name]
        return (
            f"{name} does not point to input->{own}: an array of this function's own "
            "is gone when it returns, and one that is allocated nobody frees"
        )
    return ""
