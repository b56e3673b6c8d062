# SPDX-License-Identifier: MIT
"""Runs the checks of a direction that need only the rung's plain build."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from grader.checks.check_names import named
from grader.checks.check_result import CheckResult, clocked
from grader.checks.memory import no_scratch
from grader.checks.printed import of_case
from grader.checks.subject import Subject
from grader.checks.values import (
    audit,
    each_dtype,
    forward,
    gradient,
    second_order,
    several_threads,
)
from grader.course.rungs import Rung
from grader.course.threads import promises_bits
from grader.engine import plan
from grader.engine.plan import Question
from grader.verdicts import Verdict

MODULE_CASES = 6  # that also go through the nn.Module
# announced here; each_dtype announces the numbers, with their dtype
HERE = (
    plan.RULES,
    plan.SECOND,
    plan.THREADS,
    plan.HALF,
    plan.MODULE,
    plan.GRADCHECK,
)


def check(
    subject: Subject,
    rung: Rung,
    direction: str,
    seed: int,
    announce: Callable[[str, str], None],
    *,
    forward_ok: bool,
    on_results: Callable[[Rung, list[CheckResult]], None] = lambda *_: None,
) -> list[CheckResult]:
    """All of them up to the first that is not passed. `announce` gets the rung's id and
    what is being done, `on_results` each answer. `forward_ok`: gradcheck may call
    forward.
    """
    results: list[CheckResult] = []
    for question in plan.questions(rung, direction):
        if question.forward and not forward_ok:
            continue
        say = lambda words: announce(rung.id, words)  # noqa: E731
        subject.words = {}
        answer = _answer(subject, rung, direction, question, seed, say)
        if answer and question.name == plan.NUMBERS:
            said = of_case(subject.words, answer[-1].replay)
            answer[-1] = replace(answer[-1], printed=said)
        on_results(rung, answer)
        results += answer
        if results and results[-1].verdict is not Verdict.PASS:
            break
    return results


def _answer(
    subject: Subject,
    rung: Rung,
    direction: str,
    question: Question,
    seed: int,
    say: Callable[[str], None],
) -> list[CheckResult]:
    """One of them; nothing for those that a look or a gate answers."""
    cases = subject.cases(seed)
    words = subject, cases, direction, seed
    if question.name == plan.NUMBERS:
        return each_dtype.check(*words, say)
    if question.name in HERE:
        say(named(question.asks or question.name, direction))
    if question.name == plan.RULES:
        check = audit.check if question.asks == "audit" else no_scratch.check
        return [clocked(lambda: check(*words))]
    if question.name == plan.SECOND:
        return [clocked(lambda: second_order.check(subject, cases, seed))]
    if question.name == plan.THREADS:
        same = {"same_bits": promises_bits(rung)}
        return [
            clocked(lambda: several_threads.check(subject, direction, seed, **same))
        ]
    if question.name == plan.HALF:
        return each_dtype.half(*words)
    if question.name == plan.MODULE:
        first = cases[:MODULE_CASES]
        module = {"through_module": True}
        return [clocked(lambda: forward.check(subject, first, "f64", seed, **module))]
    if question.name == plan.GRADCHECK:
        found = clocked(lambda: gradient.gradcheck(subject, cases, seed))
        return [found] if found.cases else []  # it may cover no small case
    return []
