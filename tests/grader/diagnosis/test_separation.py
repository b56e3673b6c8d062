# SPDX-License-Identifier: MIT
"""Conditions that separate wrong from right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch

from grader.diagnosis.separation import separated
from tests.grader.diagnosis.test_symptoms import said

T = torch.Tensor
MANY = 24  # elements: with so many, chance does not separate them
NUMBERS = torch.arange(MANY)


def condition(wrong: T, values: T, spare: int = 0) -> str:
    """What is said of one case with one column."""
    trial: Any = object()
    return separated([trial], [wrong], [("k", lambda _: values)], spare)


@pytest.mark.parametrize(
    ("wrong", "values", "said"),
    [
        (NUMBERS > 9, NUMBERS > 9, "k"),
        (NUMBERS > 9, NUMBERS < 9, ""),
        (NUMBERS > 9, NUMBERS, "k > 9"),
        (NUMBERS < 9, NUMBERS, "k < 9"),
        (NUMBERS > 9, NUMBERS + 5 * (NUMBERS > 9), "k > 9 (or any bound from 9 to 14)"),
        ((NUMBERS > 4) & (NUMBERS < 9), NUMBERS, "k > 4 and k < 9"),
        (NUMBERS % 3 == 1, NUMBERS % 3, "k is 1"),
        (NUMBERS % 2 == 1, NUMBERS % 3, ""),
        (NUMBERS > 9, NUMBERS - 9.5, "k > 0"),
        (NUMBERS > 9, NUMBERS / 8, "k > 1.2 (or any bound between 1.125 and 1.25)"),
        (NUMBERS > 1, NUMBERS, ""),  # two right ones
        (NUMBERS > 2, NUMBERS / 2, ""),  # three right ones beyond a bound are few
    ],
)
def test_a_condition_holds_for_all_wrong_and_for_no_right_ones(wrong, values, said):
    assert condition(wrong, values) == said


def test_a_few_right_ones_may_meet_a_condition_and_are_counted():
    wrong = (NUMBERS > 9) & (NUMBERS != 15)
    assert condition(wrong, NUMBERS) == ""
    assert condition(wrong, NUMBERS, 12) == ("k > 9 (right elements there: 1)")


def test_a_late_column_needs_more_evidence():
    masks, trial = [torch.tensor([i > 3]) for i in range(7)], [object()] * 7
    trials: Any = [object() for _ in trial]
    values = {id(t): torch.tensor([i]) for i, t in enumerate(trials)}
    columns = [("k", lambda t: values[id(t)])]
    assert separated(trials, masks, columns) == "k > 3"
    others = [("other", lambda t: 0 * values[id(t)])] * 5
    assert separated(trials, masks, [*others, *columns]) == ""


# ---- of operators --------------------------------------------------------------------


def slope(y: T, x: Mapping[str, T], _: Mapping[str, Any]) -> T:
    """A function that is cut off."""
    return torch.where(x["input"] > 2, x["input"], y)


def whole(y: T, x: Mapping[str, T], o: Mapping[str, Any]) -> T:
    """Alpha without its fraction."""
    return x["input"] + int(o["alpha"]) * x["other"]


def least(y: T, x: Mapping[str, T], o: Mapping[str, Any]) -> T:
    """A row's variance is at least 0.3."""
    t, ones = x["input"], torch.ones_like(y)
    variance = (t - t.mean(-1, keepdim=True)).square().mean(-1, keepdim=True)
    more = (variance + o["eps"]) / (variance.clamp(min=0.3) + o["eps"])
    bias = x.get("bias", 0 * ones)
    return torch.where(variance < 0.3, (y - bias) * more.sqrt() + bias, y)


def late(y: T, x: Mapping[str, T], _: Mapping[str, Any]) -> T:
    """The last columns are wrong from the eighth on."""
    return torch.where(torch.arange(y.shape[-1]) >= 8, y + 1 + y.abs(), y)


@pytest.mark.parametrize(
    ("operator", "student", "words"),
    [
        ("gelu", slope, "'output' is wrong only where 'input' > 2 (or any bound"),
        ("gelu", slope, "every wrong element of 'output' equals 'input'"),
        ("add", whole, "in the cases where alpha is not a whole number"),
        ("layer_norm", least, "where `variance` > 0 and `variance` < 0.3 (or any"),
        ("linear", late, "where oc > 7"),
    ],
)
def test_where_elements_are_wrong_is_told(operator, student, words):
    assert words in said(operator, student)
