# SPDX-License-Identifier: MIT
"""Defines the steps of a grading: each step is a job of the schedule about one rung.

A step holds everything that it needs, and it is sent to the process that runs it.
grade.py decides what follows from its answer.
"""

from __future__ import annotations

from dataclasses import dataclass

from grader.checks.check_result import CheckResult
from grader.checks.not_run import of_ours, our_fault
from grader.engine.checking.rung_checker import BUILDING, Answer, Checker, Known
from grader.engine.schedule import Job
from grader.toolchain.extension.package import Package
from grader.toolchain.products import Build


@dataclass(frozen=True)
class Now:
    """What a step is told when it starts."""

    learnt: Known  # what this run has found out
    python_follows: bool  # another rung in Python waits for its turn


class Compile(Job):
    """A rung alone: what it defines, and what it calls of others."""

    ahead = 0.5

    def run(self, checker: Checker, now: Now) -> Build:
        checker.announce(self.name, BUILDING)
        return checker.builds.alone(checker.rungs[self.name])


class Ask(Job):
    """Everything about a rung that is graded."""

    def run(self, checker: Checker, now: Now) -> Answer:
        checker.links.learn(now.learnt)
        return checker.answer(self.name, warm=now.python_follows)


@dataclass(frozen=True)
class Try(Job):
    """Whether a rung that is not graded in this run is right all the same."""

    directions: tuple[str, ...]

    def run(self, checker: Checker, now: Now) -> dict[str, bool]:
        links, rung = checker.links, checker.rungs[self.name]
        links.learn(now.learnt)
        found = {}
        for direction in self.directions:
            checker.announce(self.name, direction)
            found[direction] = checker.trial.is_right(links, rung, direction)
        return found


class BuildPackage(Job):
    """Lab 05: an operator is built."""

    ahead = 0.5
    group = "package"  # they share the objects of their kernels

    def run(self, checker: Checker, now: Now) -> Package:
        checker.links.learn(now.learnt)
        return checker.package(self.name)


@dataclass(frozen=True)
class Values(Job):
    """Lab 05: whether an operator computes what it should."""

    built: Package

    def run(self, checker: Checker, now: Now) -> list[CheckResult]:
        checker.links.learn(now.learnt)
        try:
            return checker.packages.values(checker.rungs[self.name], self.built)
        except Exception as error:
            return our_fault(of_ours(error))


@dataclass(frozen=True)
class Gates(Job):
    """Lab 05: whether an operator keeps PyTorch's contract, by direction."""

    built: Package

    def run(self, checker: Checker, now: Now) -> dict[str, list[CheckResult]]:
        try:
            return checker.packages.gates(checker.rungs[self.name], self.built)
        except Exception as error:
            found = our_fault(of_ours(error))
            return {check.direction: [check] for check in found}
