# SPDX-License-Identifier: MIT
"""Explains a wrong answer by a known mistake, or by the place where it is wrong.

A failed check runs again, case by case, with a few more cases. Its numbers are compared
with the numbers of the known mistakes (grader/diagnosis/mistakes). If no mistake makes
exactly these numbers, a sentence says what the failing cases have in common.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import replace

import torch

from grader.checks import named_mistakes
from grader.checks.check_result import CheckResult, Stopped
from grader.checks.subject import DTYPES, Subject
from grader.checks.values.compare import Expected, wrong_elements
from grader.checks.values.forward import expectations, output_dtypes
from grader.checks.values.gradient import call_backward, expected_gradients, room_for
from grader.course.foreign import THE_LINE
from grader.diagnosis import without_numbers
from grader.diagnosis.drawing import draw
from grader.diagnosis.match import Trial, name_it, possible, tensors
from grader.diagnosis.mistakes import GARBAGE, Mistake, formulas, known_mistakes
from grader.diagnosis.mistakes.mistake import Setting, listed
from grader.diagnosis.search.find import name_by_search
from grader.diagnosis.symptoms import NAMES, describe, read_as_contiguous
from grader.diagnosis.telling_cases import extra_cases
from grader.diagnosis.which_cases import EXACTLY, common
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
SECONDS = 3.0  # of this process, for running cases again; what has been run is used
LONGEST = 30.0  # seconds by the clock: workers take time, and so do others' processes
CALL_LIMIT = 1.0
AGAIN = (
    "the same cases were right when they were run again. Does the result depend on "
    "threads, or on data of an earlier call?"
)
STRANGE = (
    "the results are right for finite numbers, but an input of this case holds NaN or "
    "infinity. A sum with a NaN term is NaN, and no other sum is. Does a comparison "
    "(x < 0, x != x) or a factor 0 change this?"
)
TINY = (
    "the results are right for numbers of usual size. Some inputs of this case are "
    "near 1e-40, which is denormal in float. Does a comparison or a constant treat "
    "them as 0?"
)
EXTREME = {"nan": STRANGE, "infinite": STRANGE, "tiny": TINY}  # by a case's values
CRASHES = {True: 1, False: 8}  # workers to start anew: Python's import torch


def explain(
    subject: Subject, result: CheckResult, cases: list[Case], seed: int
) -> CheckResult:
    """The result of a failed forward or gradient check, with its diagnosis."""
    if result.verdict is Verdict.CRASH and "a NULL pointer" in result.message:
        return replace(result, diagnosis=_null_tensors(subject, result, cases))
    if subject.python and (mistake := without_numbers.proved_mistake(result.message)):
        return replace(result, diagnosis=mistake.sentence, mistake=mistake.name)
    nothing = subject.python and result.verdict in without_numbers.VERDICTS
    if not (nothing or result.verdict in EXPLAINED) or _says_it_all(result):
        return result
    backward, signature = result.name == "gradient", subject.operator.signature
    besides = ""
    every = [*extra_cases(subject.operator), *(c for c in cases if not c.is_extreme)]
    every.sort(key=_order)
    trials = _trials(subject, every, seed, result.dtype, backward=backward)
    if not backward and not any(t.failed for t in trials) and signature.saved:
        trials = _trials(subject, every, seed, result.dtype, backward=False, saved=True)
        besides = _only_saving(trials, subject)
    failed = [t for t in trials if t.failed]
    if not failed:
        extreme = {case.name: case.values for case in cases if case.is_extreme}
        text = EXTREME.get(extreme.get(result.replay or "", ""), AGAIN)
        return replace(result, diagnosis=text)
    picture = draw(failed)
    result = replace(result, heat=picture if picture and picture.tells else None)
    exact = trials  # in double, or else as it failed
    if result.dtype != "f64" and not besides:
        doubles = _trials(subject, every, seed, "f64", backward=backward)
        exact = doubles if any(t.failed for t in doubles) else trials
    if nothing and (found := without_numbers.name_it(exact)):
        return replace(result, diagnosis=found.sentence, mistake=found.name)
    if all(t.garbage for t in failed) and any(t.tainted for t in failed):
        text = _sentence([(name, GARBAGE) for name in tensors(failed)])
        return replace(result, diagnosis=text, mistake=GARBAGE.name)
    mistakes = known_mistakes(subject.operator.name)
    named = name_it(mistakes, exact)
    dense = [t for t in exact if not t.strided]
    if not named and not subject.python and (named := name_it(mistakes, dense)):
        besides += (
            "; a case with a view gives other wrong numbers: does the code use the "
            "strides of every input?"
        )
    if not named:
        named = name_by_search(subject.operator.name, exact)
    if named:
        text = _sentence(named) + besides
        return replace(result, diagnosis=text, mistake=named[0][1].name)
    past = read_as_contiguous(exact)
    if past:
        strides = next((m for m in mistakes if m.name == "strides_ignored"), None)
        sure = strides is not None and possible(strides, exact)
        return replace(
            result, diagnosis=past, mistake="strides_ignored" if sure else None
        )
    words = _when(trials) if nothing else describe(trials, exact)
    name = NAMES.get(words or "")
    return replace(result, diagnosis=words and words + besides, mistake=name)


def _order(case: Case) -> tuple[bool, bool]:
    """Views after other cases, and large ones last: time may be up before them."""
    return case.large, any(v != "contiguous" for v in case.layout.values())


def _says_it_all(result: CheckResult) -> bool:
    """Whether running cases again cannot add to a message: that of another check, or of
    threads that were not waited for.
    """
    late = ("after the function had returned", "after it had returned")
    other = result.name not in ("forward", "gradient")
    return other or any(words in result.message for words in late)


def _when(trials: Sequence[Trial]) -> str | None:
    """What the cases that gave no numbers share, and no other case."""
    shared = common(trials) or ""
    return shared if EXACTLY in shared else None


def _null_tensors(
    subject: Subject, result: CheckResult, cases: Sequence[Case]
) -> str | None:
    """Which tensors are NULL in the case that used a NULL pointer, and why."""
    case = next((case for case in cases if case.name == result.replay), None)
    if case is None:
        return None
    signature = subject.operator.signature
    present = subject.operator.inputs(case, DTYPES[result.dtype], 0)
    absent = [f"'{one.name}'" for one in signature.inputs if one.name not in present]
    unwanted = [
        f"'grad_{name}'"
        for name, wanted in zip(signature.gradients, subject.operator.wanted(case))
        if not wanted
    ]
    parts = []
    if absent:
        parts.append(f"{_null(absent)} not given in this case")
    if unwanted and result.direction == "backward":
        parts.append(f"{_null(unwanted)} not wanted in this case")
    return "; ".join(parts) or None


def name_of_null(result: CheckResult) -> CheckResult:
    """The result with a name, if the line that used a NULL pointer uses, and does not
    test, one of the tensors that are NULL in this case.
    """
    line = result.message.partition(THE_LINE)[2]
    if result.verdict is not Verdict.CRASH or not line:
        return result
    for part in (result.diagnosis or "").split("; "):
        for name in re.findall(r"'(\w+)'", part):
            tested = rf"(if \(|&& |!){name}\b|\b{name} (\?|&&)"
            if re.search(rf"\b{name}\b", line) and not re.search(tested, line):
                unwanted = part.endswith("not wanted in this case")
                named = (
                    named_mistakes.GRADIENT_NOT_WANTED
                    if unwanted
                    else named_mistakes.INPUT_NOT_GIVEN
                )
                return replace(result, mistake=named)
    return result


def _null(names: Sequence[str]) -> str:
    """The beginning of a sentence about tensors that are NULL."""
    if len(names) == 1:
        return f"{names[0]} is NULL, because it is"
    return f"{listed(names)} are NULL, because they are"


def _only_saving(trials: Sequence[Trial], subject: Subject) -> str:
    """That a result is right where nothing is saved, if it is wrong where all is."""
    signature = subject.operator.signature
    results = {one.name for one in signature.outputs}
    if not results & set(tensors(trials)):
        return ""
    saved = listed([f"'{one.name}'" for one in signature.saved])
    return f"; the result is wrong only in calls that also want {saved}"


def after_wrong_forward(
    results: Sequence[CheckResult], subject: Subject
) -> list[CheckResult]:
    """The results, a wrong gradient told as what follows from a wrong forward.

    Backward gets what forward has saved. No name is given then to numbers that come of
    it, but the one that forward has.
    """
    forward = next((r for r in results if r.name == "forward"), None)
    saves = subject.operator.signature.saved
    if not saves or not forward or forward.verdict is not Verdict.WRONG_VALUE:
        return list(results)
    text = (
        "forward is wrong, and backward uses the tensors that forward saves: fix "
        "forward first"
    )

    def after_forward(result: CheckResult) -> CheckResult:
        gradient = result.verdict is Verdict.WRONG_GRADIENT
        same_mistake = result.mistake in (forward.mistake, GARBAGE.name)
        if not gradient or (result.mistake and same_mistake):
            return result
        return replace(result, diagnosis=text, mistake=None)

    return [after_forward(result) for result in results]


def _sentence(named: Sequence[tuple[str, Mistake]]) -> str:
    """The sentences of the mistakes, each with the tensors it is about."""
    about: dict[str, list[str]] = {}
    for name, mistake in named:
        about.setdefault(mistake.sentence, []).append(f"'{name}'")
    return "; ".join(
        f"{listed(names)}: {sentence}" for sentence, names in about.items()
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
    end, last = time.process_time() + SECONDS, time.monotonic() + LONGEST
    crashes = 0
    made: list[Trial] = []
    for case in cases:
        over = time.process_time() > end or time.monotonic() > last
        if over or crashes >= CRASHES[subject.python]:
            break
        if backward and not any(subject.operator.wanted(case)):
            continue
        trial = run_again(subject, case, seed, dtype, backward=backward, saved=saved)
        late = trial.finding and trial.finding.verdict is Verdict.TIMEOUT
        if late and any(t.failed for t in made):
            break  # it says nothing about values; those before it do
        crashes += trial.died
        if trial.setting.truth:  # the rung covers this case
            made.append(trial)
        if late:
            break
    return made


def run_again(
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
        first = len(room) - len(truth.gradients)
        right = expected_gradients(subject, case, inputs, truth)
    else:
        right = list(expectations(subject, case, inputs, truth))
        right = right if saved else right[: len(operator.signature.outputs)]
        room, first = _room(subject, right, kind), 0
    by_name = {e.name: e for e in right if e is not None}
    setting = Setting(
        operator,
        {k: _double(v) for k, v in inputs.items()},
        operator.signature.resolve(case.options),
        tuple(_double(g) for g in grads),
        {name: _expected_or_nan(e) for name, e in by_name.items()},
    )
    trial = Trial(case, setting, None, dtype=kind, empty=setting.empty)
    for name, e in by_name.items():
        trial.size[name], trial.terms[name] = _magnitude(e), e.terms
    try:
        if backward:
            words = subject, case, inputs, room, grads, dtype
            call = call_backward(*words, deadline=CALL_LIMIT)
        else:
            limit = CALL_LIMIT
            call = subject.call(Run.FORWARD, case, inputs, room, deadline=limit)
        trial.finding = subject.run(call, case, dtype)
    except Stopped as stop:
        trial.finding, trial.died = stop.finding, True
    if not trial.finding:
        wanted = {first + k: e for k, e in enumerate(right) if e is not None}
        computed = {k: e for k, e in wanted.items() if k not in subject.left}
        truth_of = {e.name: setting.truth[e.name] for e in computed.values()}
        trial.setting = replace(setting, truth=truth_of)
        _look(trial, call, computed)
    return trial


def _room(
    subject: Subject, right: Sequence[Expected | None], kind: torch.dtype
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
    made: torch.Tensor = formulas.memory(tensor).double()
    return made.as_strided(tensor.shape, tensor.stride())


def _expected_or_nan(e: Expected) -> torch.Tensor:
    """The expected value; NaN where any value will do."""
    if e.valid is None:
        return e.value
    return torch.where(e.valid, e.value.double(), formulas.UNKNOWN)


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
    kind = torch.int64 if got.element_size() == 8 else torch.int32
    bits = got.contiguous().view(kind)
    return bits == bits.flatten()[first]
