# SPDX-License-Identifier: MIT
"""Runs cases of one direction with every change of a file, and keeps what is right.

A change counts only if every case is right with it. The smallest wrong case runs with
all changes. The few that make it right run all other cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from grader.checks.check_result import Stopped
from grader.checks.subject import Subject
from grader.checks.values.compare import Expected, judge
from grader.checks.values.prepared import expected_of, prepare
from grader.operators import Case
from grader.runner.supervisor.call import Call
from grader.runner.supervisor.session import Worker
from grader.verdicts import Verdict

CORE_SECONDS = 2.0  # of this process and the workers, for all changes of a file
FOR_THE_REST = 1.0  # more, for the other cases of the changes that help in one
CALL_LIMIT = 0.5  # seconds by the clock; in C a changed loop ends after some turns
MOST_TERMS = 100_000  # of a case; a changed C file is not optimised
SELDOM = 16  # runs between two looks at the clock
DEATHS = {False: 60, True: 0}  # workers to start anew: Python's import torch


class OutOfTime(Exception):
    """The changes take too long."""


class Choose(Protocol):
    """Puts a change of the file into force, for the next run of a call."""

    def __call__(self, call: Call, number: int) -> bool:
        """Change `number`, or 0 for the file as it is. False if it cannot be loaded."""


@dataclass(eq=False)
class Ready:
    """A case that is prepared once and runs many times."""

    case: Case
    call: Call
    expected: dict[int, Expected]  # output -> what it should hold
    left: frozenset[int] = frozenset()  # outputs that the file as it is leaves

    @property
    def size(self) -> int:
        """How many terms it adds up."""
        return sum(one.value.numel() * one.terms for one in self.expected.values())


class Trying:
    """One direction of a subject, in one dtype, with the changes of its file."""

    def __init__(
        self, subject: Subject, direction: str, dtype: str, choose: Choose
    ) -> None:
        self.subject, self.direction, self.dtype = subject, direction, dtype
        self._choose = choose
        self._deaths = self._runs = 0
        self._knows: tuple[Worker, Ready] | None = None
        subject.begin()
        self._end = subject.cpu_seconds() + CORE_SECONDS

    def ready(self, cases: Iterable[Case], seed: int) -> list[Ready]:
        """The cases that the direction has something to do in, the smallest first;
        none that takes long.
        """
        asked = [
            (number, case)
            for number, case in enumerate(cases)
            if not case.large and self.subject.asks(case, self.direction)
        ]
        made = [self._ready(case, number, seed) for number, case in asked]
        short = [one for one in made if one.size <= MOST_TERMS]
        return sorted(short, key=lambda one: one.size)

    def _ready(self, case: Case, number: int, seed: int) -> Ready:
        words = case, number, self.direction, self.dtype, seed
        made = prepare(self.subject, *words)
        made.call.limit = CALL_LIMIT
        expected = expected_of(self.subject, case, made, self.direction)
        return Ready(case, made.call, expected)

    def right(self, one: Ready, number: int) -> bool:
        """Whether a case is right with a change. Raises OutOfTime."""
        self._runs += 1
        if self._runs % SELDOM == 0 and self.subject.cpu_seconds() > self._end:
            raise OutOfTime
        try:
            worker = self.subject.worker(self.dtype)
            if number and (worker, one) != self._knows:
                self._knows = worker, one  # how many turns are usual in this case
                self.right(one, 0)
            if not self._choose(one.call, number):
                return False
            if self.subject.run(one.call, one.case, self.dtype):
                return False
        except Stopped as stop:
            self._stopped(stop)
            return False
        if number == 0:
            one.left = self.subject.left
        return self.subject.left == one.left and self._holds(one)

    def _holds(self, one: Ready) -> bool:
        """Whether all outputs of the last run are right."""
        names = self.subject.names()
        made = [i for i in one.expected if i not in one.left]
        return not any(judge(one.call, i, one.expected[i], names=names) for i in made)

    def _stopped(self, stop: Stopped) -> None:
        """Count the worker that a change has ended. Raises OutOfTime after too many."""
        alive = stop.finding.verdict in (Verdict.NOT_IMPLEMENTED, Verdict.FORBIDDEN)
        self._deaths += not alive
        if self._deaths > DEATHS[self.subject.python]:
            raise OutOfTime

    def more_time(self, seconds: float) -> None:
        """Let changes have so many seconds from now on."""
        self._end = self.subject.cpu_seconds() + seconds


def that_help(
    trying: Trying, ready: Sequence[Ready], numbers: Sequence[int]
) -> list[int]:
    """Those of the changes with which every case is right, in the same order.

    If time is up, the last ones are not tried. None if no case is wrong without them.
    """
    helping: list[int] = []
    wrong: list[Ready] = []
    try:
        wrong = [one for one in ready if not trying.right(one, 0)]
        if not wrong:
            return []
        for number in numbers:
            if trying.right(wrong[0], number):
                helping.append(number)
    except OutOfTime:
        pass
    trying.more_time(FOR_THE_REST)
    others = [*wrong[1:], *(one for one in ready if one not in wrong)]
    return _right_everywhere(trying, others, helping)


def _right_everywhere(
    trying: Trying, ready: Sequence[Ready], numbers: list[int]
) -> list[int]:
    """The changes with which all these cases are right; none if time is up."""
    try:
        for one in ready:
            numbers = [n for n in numbers if trying.right(one, n)]
    except OutOfTime:
        return []
    return numbers
