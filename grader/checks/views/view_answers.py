# SPDX-License-Identifier: MIT
"""Calls a function of tensor_view.h in its worker, and compares its answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from signatures import SIGNATURES
from signatures.view_names import VIEWS

from grader.checks import outcomes
from grader.checks.check_result import CheckResult, Finding, summarize
from grader.checks.views import sentences
from grader.checks.views.dlpack import MAX_DIMS, Lending
from grader.checks.views.placing import DTYPES, Layout
from grader.checks.views.questions import LONGEST, Question
from grader.runner.supervisor import wire
from grader.runner.supervisor.call import Call, Output, Run
from grader.runner.supervisor.session import Outcome, Worker
from grader.verdicts import Verdict

SECONDS = 5.0  # for a question; it takes microseconds
TOGETHER = 20.0  # for all of a function
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
    wrongly speaks for it. One call asks them all; only where that does not come back
    they are asked one by one, to know which it was.
    """
    number = len(SIGNATURES) + VIEWS.index(function)
    with Worker.for_library(library, library, number) as worker:
        ended = _not_ready(worker)
        answers = [] if ended else _together(worker, number, questions)
    if not ended and not answers:
        with Worker.for_library(library, library, number) as worker:
            ended = _not_ready(worker) or _one_by_one(
                worker, number, questions, answers
            )
    compared = (_compared(*pair) for pair in zip(questions, answers))
    findings = [wrong for wrong in compared if wrong]
    found = [ended, *findings] if ended else findings
    return summarize(function, "forward", "", len(questions), found)


def _not_ready(worker: Worker) -> Finding | None:
    """Why a worker cannot be asked; None if it can."""
    return _ended(worker, worker.wait_ready(), "") or outcomes.of_status(worker, "")


def _together(
    worker: Worker, number: int, questions: Sequence[Question]
) -> list[Given]:
    """All answers; none if one of the calls did not come back with one."""
    call = _call(number, questions, deadline=TOGETHER)
    returned = worker.run(call) is Outcome.RETURNED
    if not returned or outcomes.of_status(worker, ""):
        return []
    return _answers(call)


def _one_by_one(
    worker: Worker, number: int, questions: Sequence[Question], answers: list[Given]
) -> Finding | None:
    """Adds an answer for each question, up to the first that has none: why it is so."""
    for asked in questions:
        call = _call(number, [asked], deadline=SECONDS)
        if found := _ended(worker, worker.run(call), str(asked)):
            return found
        if found := outcomes.of_status(worker, ""):
            written = found.verdict is not Verdict.NOT_IMPLEMENTED
            text = f"{asked}: {found.message}" if written else found.message
            return Finding(found.verdict, text)
        answers += _answers(call)
    return None


def _call(number: int, questions: Sequence[Question], *, deadline: float) -> Call:
    """A call that asks these, each with numbers of its own."""
    sent = [torch.tensor(numbers) for numbers in zip(*(q.sent for q in questions))]
    call = Call(
        number,
        Run.FORWARD,
        [numbers[0] for numbers in sent],
        [Output((ANSWER,), torch.int64)],
        copies=len(questions),
        deadline=deadline,
    )
    for i, numbers in enumerate(sent):
        call.set_input(i, numbers if len(questions) > 1 else numbers[0])
    return call


def _answers(call: Call) -> list[Given]:
    numbers = call.tensors[0]
    assert numbers is not None
    rows = numbers.reshape(-1, ANSWER).tolist()
    return [Given(tuple(row)) for row in rows]


def _ended(worker: Worker, outcome: Outcome, said: str) -> Finding | None:
    """What ended a worker that did not come back; None if it did."""
    if outcome is Outcome.RETURNED:
        return None
    names = [""] * wire.MAX_TENSORS
    found = outcomes.of_outcome(worker, outcome, "", names, SECONDS)
    text = f"{said}: {found.message}" if said else found.message
    if found.verdict is Verdict.CRASH and "an invalid address" in text:
        text += (
            "; compute the view from sizes and strides alone: its elements cannot be "
            "read"
        )
    return Finding(found.verdict, text, location=found.location)


def _compared(asked: Question, given: Given) -> Finding | None:
    """What is wrong with an answer; None if nothing is."""
    if isinstance(asked, Lending):
        text = _lent(asked, given)
    else:
        right, said = asked.answer()
        text = sentences.difference(asked, given.refused, given.layout(), right, said)
    if not text and not given.kept:
        text = "wrote to *input, which is const"
    return Finding(Verdict.WRONG_VALUE, f"{asked}: {text}") if text else None


def _lent(asked: Lending, given: Given) -> str:
    """The same of a struct that was filled to lend a tensor."""
    if given.refused:
        return "the function refused, but PyTorch exports every tensor"
    _, _, data, *rest, own_shape, own_strides = given.numbers[: len(LENT) + 5]
    got = dict(zip(LENT, rest))
    for name, right in asked.lent().items():
        if got[name] != right:
            return f"{name} is {sentences.number(got[name])}, expected {right}"
    if asked.given.numel and data != asked.given.start:
        return (
            f"data points {data - asked.given.start} bytes past input's first element"
        )
    if asked.given.size and not (own_shape and own_strides):
        name = "strides" if own_shape else "shape"
        own = {"shape": "size", "strides": "stride"}[name]
        return (
            f"{name} does not point to input->{own}. A local array ends when this "
            "function returns, and nothing frees an allocated array"
        )
    return ""
