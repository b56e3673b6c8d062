# SPDX-License-Identifier: MIT
"""The formulas of the known mistakes: all differ from the truth and from each other."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import replace

import pytest
from signatures import SIGNATURES

from grader.checks import named_mistakes
from grader.checks.check_result import Finding
from grader.course.rungs import ROOT
from grader.diagnosis.explanation import _trials
from grader.diagnosis.match import Trial, fits, matches, name_it
from grader.diagnosis.mistakes import GARBAGE, known_mistakes, of_python
from grader.diagnosis.mistakes.mistake import PAST_THE_END, Formula
from grader.diagnosis.telling_cases import extra_cases
from grader.verdicts import Verdict
from tests.grader.diagnosis.test_explanation import SEED, subject_of
from tests.proofs.wrong_code import PARTS, source

#: wrong in the same numbers: the second is named, where nothing else tells them apart
TWINS = {
    ("conv2d", "backward", "padding_ignored"): "gradient_not_cropped",
    ("conv2d", "backward", "kernel_flipped"): "gradient_not_flipped",
    ("depthwise_conv2d", "backward", "padding_ignored"): "gradient_not_cropped",
    ("depthwise_conv2d", "backward", "kernel_flipped"): "gradient_not_flipped",
}


@pytest.fixture(scope="module")
def right_trials(tools, tmp_path_factory) -> Callable[..., list[Trial]]:
    """All cases of an operator as a right submission answers them."""
    made: dict[tuple[str, str, str], list[Trial]] = {}
    folder = tmp_path_factory.mktemp("right")

    def trials(operator: str, direction: str, dtype: str) -> list[Trial]:
        key = operator, direction, dtype
        if key not in made:
            file, library = folder / "rung.c", folder / f"{operator}.{dtype}.so"
            file.write_text(source(operator))
            flag = "-DREAL_F64" if dtype == "f64" else "-DREAL_F32"
            command = ["cc", "-std=gnu11", "-O1", "-w", "-fPIC", "-shared", flag]
            command += [f"-I{ROOT / 'common'}", "-o", str(library), str(file), "-lm"]
            subprocess.run(command, check=True, timeout=60)
            with subject_of(operator, {dtype: library}) as subject:
                every = subject.operator.cases(SEED, drawn=0)
                standard = [c for i, c in enumerate(every) if c.layout or i < 10]
                cases = [*extra_cases(subject.operator), *standard]
                backward = direction == "backward"
                made[key] = _trials(subject, cases, SEED, dtype, backward=backward)
        return made[key]

    return trials


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("operator", PARTS)
def test_a_right_submission_is_accused_of_nothing(right_trials, operator, direction):
    trials = right_trials(operator, direction, "f64")
    assert len(trials) > 12
    assert not any(t.failed for t in trials)
    for name in trials[0].setting.truth:
        assert matches(known_mistakes(operator), trials, name) == []


@pytest.mark.parametrize("operator", PARTS)
def test_every_mistake_differs_from_the_truth_in_two_cases(right_trials, operator):
    for dtype in ("f32", "f64"):
        both_ways = [right_trials(operator, d, dtype) for d in ("forward", "backward")]
        for mistake in known_mistakes(operator):
            if mistake.name.endswith("_saved"):
                continue  # of what forward saves, which no trial here holds
            assert any(
                _differs_twice(trials, formula)
                for formula in mistake.formulas[:8]
                for trials in both_ways
            ), mistake.name


def _differs_twice(trials: list[Trial], formula: Formula) -> bool:
    """Whether two cases of a right submission contradict a formula."""
    count = 0
    for t in trials:
        names = () if t.empty else t.setting.truth
        count += any(fits(t.ask(formula), t, name) is None for name in names)
        if count == 2:
            return True
    return False


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("operator", PARTS)
def test_a_mistake_is_named_by_itself_or_its_twin(right_trials, operator, direction):
    trials = right_trials(operator, direction, "f64")
    for mistake in known_mistakes(operator):
        for formula in mistake.formulas:
            pretended = [_pretend(t, formula) for t in trials]
            if sum(t.failed for t in pretended) < 4:
                continue  # not in this direction
            named = name_it(known_mistakes(operator), pretended)
            right = TWINS.get((operator, direction, mistake.name), mistake.name)
            assert {m.name for _, m in named} <= {right, mistake.name}
            assert named, mistake.name
            break


def _pretend(trial: Trial, formula: Formula) -> Trial:
    """A trial whose submission computes a formula."""
    said = {} if trial.empty else trial.ask(formula)
    truth = trial.setting.truth
    past = [n for n, value in (said or {}).items() if value is PAST_THE_END]
    if past:
        end = Finding(Verdict.MEMORY_ERROR, f"writes '{past[0]}' right past its end")
        return replace(trial, got=None, wrong={}, finding=end)
    if said is None or any(said.get(n, t) is None for n, t in truth.items()):
        return replace(trial, got=None, wrong={})
    got = {name: said.get(name, value) for name, value in truth.items()}
    wrong = {
        name: ~((got[name] - value).abs() <= 1e-9)
        for name, value in truth.items()
        if bool((~((got[name] - value).abs() <= 1e-9)).any())
    }
    return replace(trial, got=got, wrong=wrong)


# ---- the page ------------------------------------------------------------------------


def test_the_page_lists_every_mistake_with_its_sentence():
    page = (ROOT / "docs" / "guides" / "mistakes.md").read_text()
    seen = re.findall(r"^\| `(\w+)` \| ([^|]+) \|$", page, re.M)
    tables = named_mistakes.SENTENCES, named_mistakes.OF_GATES
    assert seen == [row for table in tables for row in sorted(table.items())]
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \|$", page, re.M)
    written = {(name, op, text) for name, ops, text in rows for op in ops.split(", ")}
    for operator in SIGNATURES:
        for mistake in (*known_mistakes(operator), GARBAGE):
            assert (mistake.name, operator, mistake.sentence) in written
            written.discard((mistake.name, operator, mistake.sentence))
    for mistake in of_python.MISTAKES:
        assert (mistake.name, "Python", mistake.sentence) in written
        written.discard((mistake.name, "Python", mistake.sentence))
    assert not written
