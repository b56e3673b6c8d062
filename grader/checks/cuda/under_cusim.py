# SPDX-License-Identifier: MIT
"""Checks kernels under cusim: the order of threads, memory, races and moved bytes.

Each check runs a rung of lab 04 in one of its builds, and cusim reports what it finds
(cusim_report.py). The values were judged before. `order` runs the cases again with the
threads in other orders: the results must be right in each order. A rung that is right
only in the plain build can tell the builds apart.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

import torch

from grader.checks import named_mistakes
from grader.checks.check_result import CheckResult, Finding, Stopped, summarize
from grader.checks.cuda import cusim_report, moved
from grader.checks.memory import sanitizer_report
from grader.checks.subject import Subject
from grader.checks.values.compare import judge
from grader.checks.values.prepared import Prepared, expected_of, prepare
from grader.course.traffic import MEANING, Limits, value
from grader.operators import Case, Operator
from grader.operators.entry import Tensors
from grader.runner.supervisor.call import SEED_SHIFT, Placement, Run
from grader.verdicts import Verdict

DTYPE = "f32"
BUDGET = 20.0  # seconds on a core for one direction of one check; the rest is left out
LONGEST = 60.0  # as long as there are kinds of cases that were not looked at
SMALL = 2000  # elements of all inputs: a case of no cost in any kernel
SLOWER = {"memory": 4, "races": 20, "traffic": 100}  # than the plain build
FEW = 6  # cases of the order check
SEEDS = 1 << 14
LARGE = 1 << 14  # elements of output: 64 KB in f32

# warnings of cusim that a rung is held to
WARNINGS = {
    "memory": ("unchecked_launch", "leak"),
    "races": ("early_exit", "uninitialized_shared"),
}
_REPORTED = (
    Verdict.MEMORY_ERROR,
    Verdict.RACE,
    Verdict.CRASH,
    Verdict.WRONG_CONTRACT,
    Verdict.GRADER,
)


def asked(subject: Subject, cases: list[Case], direction: str) -> list[Case]:
    """The cases that a direction has something to do in, and that the rung covers."""
    return [case for case in cases if subject.asks(case, direction)]


def varied(
    operator: Operator, cases: list[Case], *, kinds: bool = False
) -> list[tuple[int, Case]]:
    """The cases with their numbers, in the order in which they tell most; with `kinds`
    the first of each kind and those that are SMALL.

    First one of each kind, a kind being what a kernel can take another way for: how
    tensors lie in memory, which of them there are, and the order of magnitude of their
    size. In front of others of its kind, and among kinds, the smallest.
    """
    sized = sorted(enumerate(cases), key=lambda pair: operator.elements(pair[1]))
    first: dict[object, tuple[int, Case]] = {}
    for pair in sized:
        first.setdefault(_kind(operator, pair[1]), pair)
    chosen = {number for number, _ in first.values()}
    rest = [pair for pair in sized if pair[0] not in chosen]
    if kinds:
        rest = [pair for pair in rest if operator.elements(pair[1]) <= SMALL]
    return [*first.values(), *rest]


def _kind(operator: Operator, case: Case) -> object:
    return (
        tuple(sorted(case.layout.items())),
        case.without,
        case.wanted,
        tuple(sorted(case.options)),
        operator.elements(case).bit_length() // 3,
    )


def look(
    name: str,
    subject: Subject,
    cases: list[Case],
    direction: str,
    seed: int,
    *,
    dtype: str = DTYPE,
    below: bool = False,
) -> CheckResult:
    """All cases of one direction in the build for `name`: memory or races.

    As many as the budget allows, of a rung `below` another one those that differ in
    kind or are small; the message says how many were left out. If not every
    kind of case came to its end the verdict is SUSPECT.
    """
    subject.begin()
    subject.warnings = WARNINGS[name]
    begin = subject.cpu_seconds()
    wanted = asked(subject, cases, direction)
    unseen = {_kind(subject.operator, case) for case in wanted}
    looked, left = 0, ""
    if below:
        left = "a higher rung is graded too. Grade this file alone to check all cases"
    findings: list[Finding] = []
    for i, case in varied(subject.operator, wanted, kinds=below):
        if subject.cpu_seconds() - begin > (LONGEST if unseen else BUDGET):
            left = "the time of this check is over"
            break
        words = name, subject, case, i, direction, seed
        found = run_case(*words, dtype=dtype, judged=True)
        if found and found.verdict not in (*_REPORTED, Verdict.SUSPECT):
            left = f"{case.name} {found.message}"
            continue
        looked += 1
        unseen.discard(_kind(subject.operator, case))
        if found:
            findings.append(found)
            break
    result = summarize(name, direction, dtype, looked, findings)
    if findings or not left or looked == len(wanted):
        return result
    said = f"checked {looked} of {len(wanted)} cases"
    said += (
        f", but not every kind of case (layout, options, size): {left}"
        if unseen
        else f": {left}"
    )
    verdict = Verdict.SUSPECT if unseen or not looked else Verdict.PASS
    return dataclasses.replace(result, verdict=verdict, message=said)


def run_case(
    name: str,
    subject: Subject,
    case: Case,
    i: int,
    direction: str,
    seed: int,
    *,
    dtype: str = DTYPE,
    judged: bool = False,
) -> Finding | None:
    """One case in the build for `name`: what cusim or the worker's end tells. `judged`:
    the values too, which were right in the plain build.
    """
    made = prepare(subject, case, i, direction, dtype, seed)
    made.call.limit *= SLOWER[name]
    try:
        found = subject.run(made.call, case, dtype)
    except Stopped as stop:
        return stop.finding
    if found or not judged:
        return found
    return _otherwise(subject, made, case, direction)


def _otherwise(
    subject: Subject, made: Prepared, case: Case, direction: str
) -> Finding | None:
    """A program that computes something else where it is watched, on purpose or not."""
    wrong = _wrong(subject, made, case, direction)
    if wrong is None:
        return None
    text = (
        "the result is right in the plain build, but wrong in the build for this "
        f"check: {wrong.message}"
    )
    return Finding(Verdict.SUSPECT, text, case.name)


def _wrong(
    subject: Subject, made: Prepared, case: Case, direction: str
) -> Finding | None:
    """The first result that is wrong."""
    for k, expected in expected_of(subject, case, made, direction).items():
        if wrong := judge(made.call, k, expected, names=subject.names()):
            return wrong
    return None


# ---- the order of threads ------------------------------------------------------------


def order(
    subject: Subject,
    cases: list[Case],
    direction: str,
    seed: int,
    dtype: str = DTYPE,
    *,
    large: bool = True,
) -> CheckResult:
    """The largest cases again, with the threads of a block in other orders, and a
    `large` one as it is: who computes elsewhere has much to send there.
    """
    subject.begin()
    wanted = asked(subject, cases, direction)
    sized = sorted(enumerate(wanted), key=lambda x: -subject.operator.elements(x[1]))
    drawn = seed % SEEDS
    ways = {
        "when the last thread runs first": Run.REVERSE,
        f"when the threads run in a random order (seed {drawn})": Run.RANDOM
        | drawn << SEED_SHIFT,
    }
    findings: list[Finding] = []
    few = sized[:FEW]
    more = large_case(subject.operator) if large else None
    if more and subject.operator.asks(more, direction):
        wrong = _plainly(subject, more, direction, seed, dtype)
        findings += [wrong] if wrong else []
    for i, case in few if not findings else []:
        for way, bits in ways.items():
            found = _in_order(subject, case, i, direction, seed, bits, dtype)
            if found:
                text = f"{way}: {found.message}; threads run in any order, and the "
                text += "result must not depend on this order"
                at = found.location
                findings.append(Finding(Verdict.RACE, text, case.name, at))
        if findings:
            break
    return summarize("order", direction, dtype, len(few), findings)


def large_case(operator: Operator) -> Case | None:
    """Of the cases for threads and for speed the smallest with a LARGE output, else the
    last; none if the operator is checked on cases that somebody chose.
    """
    cases = [*operator.thread_cases(), *operator.speed_cases(large=False).values()]
    last = None
    for case in sorted(cases, key=operator.elements):
        if not operator.only:
            last = case
            inputs = operator.inputs(case, torch.float32, 0)
            if operator.outputs(inputs, case)[0].numel() >= LARGE:
                break
    return last


def _in_order(
    subject: Subject,
    case: Case,
    i: int,
    direction: str,
    seed: int,
    bits: int,
    dtype: str,
    *,
    placement: Placement = Placement.RIGHT,
) -> Finding | None:
    made = prepare(subject, case, i, direction, dtype, seed)
    made.call.request.placement = placement
    made.call.request.run |= bits
    made.call.limit *= 2
    try:
        found = subject.run(made.call, case, dtype)
    except Stopped as stop:
        return stop.finding
    return found or _wrong(subject, made, case, direction)


# ---- traffic -------------------------------------------------------------------------


def traffic(
    subject: Subject, limits: Limits, cases: list[Case], seed: int, plain: Subject
) -> CheckResult:
    """What the kernels of one call move, against the limits of lab.toml, in the dtype
    that `subject` is built for.

    The case may be larger than any that was judged before: what is wrong in the `plain`
    build, too, is a mistake and no suspicion.
    """
    subject.begin()
    (dtype,) = subject.libraries
    by_name = {case.name: case for case in cases}
    case = {**by_name, **subject.operator.speed_cases()}.get(limits.case)
    if case is None:
        text = (
            f"lab.toml has a traffic limit for case {limits.case!r}, but no such case "
            "exists"
        )
        no = Verdict.GRADER
        return CheckResult("traffic", limits.direction, no, dtype, message=text)
    made = prepare(subject, case, 0, limits.direction, dtype, seed)
    made.call.request.placement = Placement.ALIGN  # as cudaMalloc aligns
    made.call.request.run |= Run.COUNT
    made.call.limit *= SLOWER["traffic"]
    findings: list[Finding] = []
    try:
        found = subject.run(made.call, case, dtype)
        found = found or _otherwise(subject, made, case, limits.direction)
        if found and found.verdict is Verdict.SUSPECT:
            found = _plainly(plain, case, limits.direction, seed, dtype) or found
        findings += [found] if found else []
    except Stopped as stop:
        findings.append(stop.finding)
    if not findings:
        sizes = sizes_of(subject.operator, case, made.inputs)
        findings += _over(subject, limits, sizes, case.name)
    return summarize("traffic", limits.direction, dtype, 1, findings)


def _plainly(
    plain: Subject, case: Case, direction: str, seed: int, dtype: str
) -> Finding | None:
    """What is wrong with a large case in the build that values are judged in."""
    plain.begin()
    aligned = Placement.ALIGN  # as where it was counted
    words = plain, case, 0, direction, seed, 0, dtype
    wrong = _in_order(*words, placement=aligned)
    if wrong is None:
        return None
    text = f"{wrong.message}; smaller cases are right"
    verdict = wrong.verdict
    if direction == "backward" and verdict is Verdict.WRONG_VALUE:
        verdict = Verdict.WRONG_GRADIENT
    return Finding(verdict, text, case.name, wrong.location)


def sizes_of(operator: Operator, case: Case, inputs: Tensors) -> dict[str, int]:
    """The letters of operators.h in this case, COUNT (of output) and BATCH."""
    sizes = dict(case.sizes)
    for argument in operator.signature.inputs:
        shape = inputs[argument.name].shape if argument.name in inputs else ()
        letters = [e.strip() for e in argument.shape.strip("()").split(",")]
        for letter, extent in zip(reversed(letters), reversed(shape)):
            if letter.isidentifier():
                sizes.setdefault(letter, extent)
        if letters[0] == "...":
            batch = shape[: max(0, len(shape) - len(letters) + 1)]
            sizes.setdefault("BATCH", math.prod(batch))
    kernel = operator.signature.resolve(case.options).get("kernel_size")
    if isinstance(kernel, list | tuple):
        sizes["KH"], sizes["KW"] = kernel[0], kernel[-1]
    return {**sizes, "COUNT": operator.outputs(inputs, case)[0].numel()}


def _over(
    subject: Subject, limits: Limits, sizes: Mapping[str, int], case: str
) -> list[Finding]:
    """The limits that the last call went over."""
    worker = subject.worker(*subject.libraries)
    counts = cusim_report.report_of(worker).counts
    if not worker.reply.report_cut and not counts:
        text = "no kernel used global memory, so this check has nothing to count"
        return [Finding(Verdict.SUSPECT, text, case)]
    if worker.reply.report_cut:
        text = "the kernels of this case access memory in too many lines to count"
        return [Finding(Verdict.SUSPECT, text, case)]
    found = []
    for word, limit in limits.most:
        most, came = value(limit, sizes), moved.counted(word, counts)
        if came > most:
            formula = f" ({limit})" if isinstance(limit, str) else ""
            text = f"{limits.direction} moves too much: {came:,.4g} {MEANING[word]}, "
            text += f"the limit is {most:,.4g}{formula}"
            at, more = moved.where(word, counts, most, subject.names())
            text = sanitizer_report.with_source(text + more, at)
            axis = (
                named_mistakes.WARP_WALKS_WRONG_AXIS
                if moved.NEIGHBOURS in more
                else None
            )
            found.append(Finding(Verdict.TRAFFIC, text, case, at, axis))
    return found
