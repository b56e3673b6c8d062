# SPDX-License-Identifier: MIT
"""What is said beside a wrong answer when its numbers alone do not tell: what follows
from a wrong forward, from saving, from a tensor that is not there.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from grader import operators
from grader.checks.check_result import CheckResult
from grader.diagnosis import explanation, postmortem, symptoms
from grader.diagnosis.match import Trial, name_it
from grader.diagnosis.mistakes import known_mistakes
from grader.diagnosis.symptoms import describe
from grader.verdicts import Verdict
from tests.grader.diagnosis.test_symptoms import said, trials_of

FORWARD = CheckResult("forward", "forward", Verdict.WRONG_VALUE)
GRADIENT = CheckResult(
    "gradient", "backward", Verdict.WRONG_GRADIENT, mistake="sums_for_averages"
)
FIRST = "fix forward first"


def subject_of(operator: str) -> Any:
    """Enough of a subject for what is asked here."""
    found = operators.get(operator)
    return SimpleNamespace(operator=found, dtypes=("f32",), python=False)


@pytest.mark.parametrize(
    ("operator", "forward", "name", "said_first"),
    [
        ("layer_norm", FORWARD, None, True),
        ("layer_norm", replace(FORWARD, mistake="sums_for_averages"), "same", False),
        ("layer_norm", replace(FORWARD, verdict=Verdict.PASS), "same", False),
        ("gelu", FORWARD, "same", False),  # it saves nothing
    ],
)
def test_a_gradient_after_a_wrong_forward_gets_no_name_of_its_own(
    operator, forward, name, said_first
):
    results = explanation.after_wrong_forward([forward, GRADIENT], subject_of(operator))
    assert results[0] == forward
    assert results[1].mistake == (GRADIENT.mistake if name else None)
    assert (FIRST in (results[1].diagnosis or "")) == said_first


def test_what_is_wrong_only_where_forward_saves_is_told(monkeypatch):
    subject = subject_of("subm_conv3d")
    right = trials_of("subm_conv3d", lambda y, x, o: y)
    wrong = trials_of("subm_conv3d", lambda y, x, o: 2 * y + 1)
    monkeypatch.setattr(
        explanation, "_trials", lambda *_, saved=False, **__: wrong if saved else right
    )
    found = explanation.explain(subject, FORWARD, [], 0)
    assert "only in calls that also want 'rulebook' and 'count'" in found.diagnosis
    assert "run again." not in found.diagnosis


def test_a_null_pointer_has_the_names_of_the_tensors_that_are_not_there():
    operator = operators.get("linear")
    cases = operator.cases(1, drawn=0)
    crash = CheckResult(
        "gradient",
        "backward",
        Verdict.CRASH,
        dtype="f32",
        message="SIGSEGV: used a NULL pointer",
    )

    def diagnosis_of(name: str) -> str | None:
        result = replace(crash, replay=name)
        return explanation.explain(subject_of("linear"), result, cases, 1).diagnosis

    assert diagnosis_of("small") is None
    assert diagnosis_of("only_input") == (
        "'grad_weight' and 'grad_bias' are NULL, because they are not wanted in "
        "this case"
    )
    assert "'bias' is NULL, because it is not given in this case" in (
        diagnosis_of("no_bias") or ""
    )


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("*at1(grad_bias, oc) += grad", "gradient_not_wanted"),
        ("sum = *at1(bias, oc)", "input_not_given"),
        ("sum = bias ? *at1(bias, oc) : rows[oc]", None),
        ("if (bias) sum += rows[oc]", None),
        ("sums[oc] = 0", None),
    ],
)
def test_a_null_tensor_is_named_by_the_line_that_uses_it(line, name):
    said = "'bias' is NULL, because it is not given in this case; 'grad_bias' is NULL, "
    crash = CheckResult(
        "gradient",
        "backward",
        Verdict.CRASH,
        message=f"no_bias: uses a NULL pointer; the line is: {line}",
        diagnosis=said + "because it is not wanted in this case",
    )
    assert explanation.name_of_null(crash).mistake == name


@pytest.mark.parametrize(
    ("numbers", "name", "words"),
    [
        (
            {"read": 0x5A5A2009, "oc": 3},
            "rows_behind_the_count",
            "has only count[k] pairs",
        ),
        ({"i": 0x5A5A2008}, None, "element of 'output' was never written and is us"),
        ({"i": 0x5A5A3001}, None, None),  # of scratch, which has no name
        ({"i": 2008, "oc": -1}, None, None),
    ],
)
def test_an_index_that_nobody_has_written_is_told(numbers, name, words):
    signature = operators.get("subm_conv3d").signature
    names = [""] * 8 + [one.name for one in (*signature.outputs, *signature.saved)]
    found = postmortem._unwritten(GRADIENT, numbers, names)
    assert found.mistake == (name or GRADIENT.mistake)
    assert (words or "no words") in (found.diagnosis or "no words")


@pytest.mark.parametrize(
    ("sentence", "name"),
    [
        (symptoms.FLOATS, "digits_of_double_lost"),
        (symptoms.CANCELS, "digits_cancel"),
        ("every wrong element is 0", None),
    ],
)
def test_lost_digits_have_a_name(monkeypatch, sentence, name):
    trials = trials_of("gelu", lambda y, x, o: 3 * y + y.abs())
    monkeypatch.setattr(explanation, "_trials", lambda *_, **__: trials)
    monkeypatch.setattr(explanation, "describe", lambda *_: sentence)
    found = explanation.explain(subject_of("gelu"), FORWARD, [], 0)
    assert (found.mistake, found.diagnosis) == (name, sentence)


def test_cases_with_empty_tensors_are_not_among_all():
    text = said("gelu", lambda y, x, o: y + 1 + y.abs())
    assert "and all of them are wrong, except cases with empty tensors" in text
    assert "the smallest case that fails" in text


def test_a_vector_of_which_the_first_element_is_right_is_described():
    def without_first(y: torch.Tensor, *_: Any) -> torch.Tensor:
        return torch.cat([y[..., :1], 2 * y[..., 1:] + 1], dim=-1)

    trials = trials_of("layer_norm", without_first)
    assert any(t.setting.truth["output"].dim() == 1 for t in trials)
    assert "'output' is wrong exactly where d > 0" in (describe(trials) or "")


def test_a_described_mistake_says_nothing_about_views(monkeypatch):
    trials = trials_of("gelu", lambda y, x, o: 3 * y + y.abs())
    monkeypatch.setattr(explanation, "_trials", lambda *_, **__: trials)
    found = explanation.explain(subject_of("gelu"), FORWARD, [], 0)
    assert found.mistake is None and "view" not in found.diagnosis


# ---- names of other forms than a mistake's first -------------------------------------


def named(trials: list[Trial], operator: str) -> set[str]:
    """What the trials are called."""
    return {mistake.name for _, mistake in name_it(known_mistakes(operator), trials)}


def test_an_eps_that_is_squared_is_not_called_outside_of_the_root():
    def squared(y: torch.Tensor, x: Any, o: Any) -> torch.Tensor:
        t, eps = x["input"], o["eps"] ** 2
        weight, bias = x.get("weight"), x.get("bias")
        return torch.nn.functional.layer_norm(t, t.shape[-1:], weight, bias, eps)

    assert named(trials_of("layer_norm", squared), "layer_norm") == {"eps_squared"}


def test_a_bias_by_row_has_its_name_though_it_ends_before_the_rows_do():
    def by_row(y: torch.Tensor, x: Any, _: Any) -> torch.Tensor:
        if "bias" not in x or not y.numel():
            return y
        rows = y.reshape(-1, y.shape[-1]) - x["bias"]
        index = torch.arange(len(rows)) % len(x["bias"])  # past the end: anything
        return (rows + x["bias"][index][:, None]).reshape(y.shape)

    assert named(trials_of("linear", by_row), "linear") == {"bias_index"}
