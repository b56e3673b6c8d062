# SPDX-License-Identifier: MIT
"""A wrong answer: which known mistake is it, or at least, where is it wrong?

A check that failed is run again, case by case and with a few cases more, and the
numbers are compared with those of the known mistakes (grader/diagnosis/mistakes). If
none of them makes exactly these numbers, a sentence says what the failing cases have in
common.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from grader.checks.check_result import CheckResult, Stopped
from grader.checks.subject import DTYPES, Subject
from grader.checks.values.compare import Expected, wrong_elements
from grader.checks.values.forward import expectations, output_dtypes
from grader.checks.values.gradient import expected_gradients, room_for
from grader.diagnosis.match import Trial, name_it, possible, tensors
from grader.diagnosis.mistakes import GARBAGE, Mistake, formulas, known
from grader.diagnosis.mistakes.mistake import Setting
from grader.diagnosis.symptoms import describe, read_as_contiguous
from grader.diagnosis.telling_cases import extra_cases
from grader.operators import Case
from grader.runner.supervisor.call import Call, Output, Run
from grader.runner.supervisor.wire import SIDE_TENSORS, TAG_UNWRITTEN
from grader.verdicts import Verdict

EXPLAINED = (
    Verdict.WRONG_VALUE,
    Verdict.WRONG_GRADIENT,
    Verdict.INCOMPLETE,
    Verdict.MEMORY_ERROR,
)
SECONDS = 3.0  # of a core, to run cases again; what has been run until then is used
CALL_LIMIT = 1.0
CRASHES = {True: 1, False: 8}  # workers to start anew: Python's import torch


def explain(
    subject: Subject, result: CheckResult, cases: list[Case], seed: int
) -> CheckResult:
    """The result of a failed forward or gradient check, with its diagnosis."""
    if result.verdict not in EXPLAINED or result.name not in ("forward", "gradient"):
        return result
    if "after the function had returned" in result.message:
        return result  # threads that were not waited for: the message says it
    if "after it had returned" in result.message:
        return result
    backward = result.name == "gradient"
    every = [*extra_cases(subject.operator), *cases]
    every.sort(key=lambda case: any(v != "contiguous" for v in case.layout.values()))
    trials = _trials(subject, every, seed, "f64", backward=backward)
    if not any(t.failed for t in trials):
        trials = _trials(subject, every, seed, result.dtype, backward=backward)
    failed = [t for t in trials if t.failed]
    if not failed and _saved_is_wrong(subject, result):
        return _named_saved(subject, result, every, seed)
    if not failed:
        text = (
            "the same cases came out right when they were run again: does the result "
            "depend on threads, or on what an earlier call left behind?"
        )
        return replace(result, diagnosis=text)
    if all(t.garbage for t in failed) and any(t.tainted for t in failed):
        text = _sentence([(name, GARBAGE) for name in tensors(failed)])
        return replace(result, diagnosis=text, mistake=GARBAGE.name)
    mistakes = known(subject.operator.name)
    named, besides = name_it(mistakes, trials), ""
    if not named:
        named = name_it(mistakes, [t for t in trials if not t.strided])
        besides = "; besides, inputs that are views (with strides) are read wrongly"
    if named:
        text = _sentence(named) + besides
        return replace(result, diagnosis=text, mistake=named[0][1].name)
    past = read_as_contiguous(trials)
    if past:
        strides = next((m for m in mistakes if m.name == "strides_ignored"), None)
        sure = strides is not None and possible(strides, trials)
        return replace(
            result, diagnosis=past, mistake="strides_ignored" if sure else None
        )
    return replace(result, diagnosis=describe(trials))


def _saved_is_wrong(subject: Subject, result: CheckResult) -> bool:
    """Whether the message is of a tensor that forward saves: no trial looks there."""
    saved = subject.operator.signature.saved
    return any(f"'{one.name}'" in result.message for one in saved)


def _named_saved(
    subject: Subject, result: CheckResult, cases: Sequence[Case], seed: int
) -> CheckResult:
    """The result with the name of a mistake in a saved tensor alone, if it has one."""
    trials = _trials(subject, cases, seed, result.dtype, backward=False, saved=True)
    named = name_it(known(subject.operator.name), trials)
    if not named:
        return result
    return replace(result, diagnosis=_sentence(named), mistake=named[0][1].name)


def _sentence(named: Sequence[tuple[str, Mistake]]) -> str:
    """The sentences of the mistakes, each with the tensors it is about."""
    about: dict[str, list[str]] = {}
    for name, mistake in named:
        about.setdefault(mistake.sentence, []).append(f"'{name}'")
    return "; ".join(
        f"{' and '.join(names)}: {sentence}" for sentence, names in about.items()
    )


# ---- running the cases again ---------------------------------------------------------


def _trials(
    subject: Subject,
    cases: Sequence[Case],
    seed: int,
    dtype: str,
    *,
    backward: bool,
    saved: bool = False,
) -> list[Trial]:
    """Every case once more; fewer if time is up or workers keep dying."""
    if dtype not in subject.dtypes:
        return []
    subject.begin()
    end = subject.cpu_seconds() + SECONDS
    crashes, made = 0, []
    for case in cases:
        if subject.cpu_seconds() > end or crashes >= CRASHES[subject.python]:
            break
        if backward and not any(subject.operator.wanted(case)):
            continue
        trial = _trial(subject, case, seed, dtype, backward=backward, saved=saved)
        crashes += trial.finding is not None
        made.append(trial)
        if trial.finding and trial.finding.verdict is Verdict.TIMEOUT:
            break
    return made


def _trial(
    subject: Subject,
    case: Case,
    seed: int,
    dtype: str,
    *,
    backward: bool,
    saved: bool = False,
) -> Trial:
    """One case, with everything a formula needs; `saved`: what forward saves, too."""
    operator, kind = subject.operator, DTYPES[dtype]
    inputs = operator.inputs(case, kind, seed)
    grads: list[torch.Tensor] = []
    if backward:
        results = operator.outputs(inputs, case)
        grads = operator.grad_outputs(case, results, kind, seed)
    truth = operator.truth(inputs, case, grads)
    if backward:
        room = room_for(subject, case, inputs, results, dtype)
        bits, first = subject.gradient_bits(), len(room) - len(truth.gradients)
        right = expected_gradients(subject, case, inputs, truth)
    else:
        right = list(expectations(subject, case, inputs, truth))
        right = right if saved else right[: len(operator.signature.outputs)]
        room, bits, first = _room(subject, case, right, kind), int(Run.FORWARD), 0
    by_name = {e.name: e for e in right if e is not None}
    setting = Setting(
        operator,
        {k: _double(v) for k, v in inputs.items()},
        operator.signature.resolve(case.options),
        tuple(_double(g) for g in grads),
        {name: e.value for name, e in by_name.items()},
    )
    trial = Trial(case, setting, None, dtype=kind, empty=setting.empty)
    for name, e in by_name.items():
        trial.size[name], trial.terms[name] = _magnitude(e), e.terms
    call = subject.call(bits, case, inputs, room, grads, deadline=CALL_LIMIT)
    try:
        trial.finding = subject.run(call, case, dtype)
    except Stopped as stop:
        trial.finding = stop.finding
    if not trial.finding:
        _look(trial, call, {first + k: e for k, e in enumerate(right) if e is not None})
    return trial


def _room(
    subject: Subject, case: Case, right: Sequence[Expected | None], kind: torch.dtype
) -> list[Output | None]:
    """Room for the results, and for saved tensors if they are among them."""
    kinds = output_dtypes(subject, kind)
    return [
        Output(tuple(e.value.shape), k) if e else None for e, k in zip(right, kinds)
    ]


def _double(tensor: torch.Tensor) -> torch.Tensor:
    """The same numbers in double, behind the same strides."""
    if tensor.dtype is torch.float64 or not tensor.is_floating_point():
        return tensor
    once = tuple(slice(0, 1) if s == 0 else slice(None) for s in tensor.stride())
    last = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride()))
    made = torch.zeros(max(0, last) + 1, dtype=torch.float64)
    view = made.as_strided(tensor.shape, tensor.stride())
    view[once] = tensor[once].double()
    return view


def _magnitude(e: Expected) -> float:
    """The largest sum of absolute terms, or value where it must be exact."""
    size = e.value.abs().double() if e.scale is None else e.scale
    return float(size.max()) if size.numel() else 0.0


def _look(trial: Trial, call: Call, right: dict[int, Expected]) -> None:
    """Fill in what came, which elements are wrong, and whether it was garbage."""
    trial.got = {}
    garbage, tainted = [], False
    for i, e in right.items():
        got = call.tensors[i]
        assert got is not None
        found = call.request.side[SIDE_TENSORS + i]
        values = got.double()
        if found.unwritten:
            values = torch.where(
                _unwritten(got, found.first_unwritten), formulas.UNWRITTEN, values
            )
        trial.got[e.name] = values
        wrong = wrong_elements(got, e)
        if bool(wrong.any()) or found.fence:
            trial.wrong[e.name] = wrong
            unset = found.taint & 0xF000 == TAG_UNWRITTEN or not found.tainted
            lost = not bool(torch.isfinite(values[wrong]).any())
            garbage.append(unset and lost)
            tainted |= bool(found.tainted)
    trial.garbage = bool(garbage) and all(garbage)
    trial.tainted = tainted


def _unwritten(got: torch.Tensor, first: int) -> torch.Tensor:
    """The elements with the very bits of the first one that was never written."""
    kind = torch.int64 if got.dtype == torch.float64 else torch.int32
    bits = got.contiguous().view(kind)
    return bits == bits.flatten()[first]
