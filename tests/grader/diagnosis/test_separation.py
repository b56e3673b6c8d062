# SPDX-License-Identifier: MIT
"""Conditions that separate wrong from right, and the terms of sums that are wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch

from grader.diagnosis.search.find import name_by_search
from grader.diagnosis.separation import separated
from tests.grader.diagnosis.test_symptoms import Student, said, trials_of

T = torch.Tensor
MANY = 24  # elements: with so many, chance does not separate them
NUMBERS = torch.arange(MANY)


def condition(wrong: T, values: T, spare: int = 0) -> tuple[str, int]:
    """What is found in one case with one column."""
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
    assert condition(wrong, values) == (said, 0)


def test_a_few_right_ones_may_meet_a_condition_and_are_counted():
    wrong = (NUMBERS > 9) & (NUMBERS != 15)
    assert condition(wrong, NUMBERS) == ("", 0)
    assert condition(wrong, NUMBERS, 12) == ("k > 9", 1)
    assert condition(wrong, NUMBERS > 9, 12) == ("k", 1)
    assert condition(wrong, NUMBERS > 9, 14) == ("", 0)  # one for 14 wrong ones


def test_a_condition_that_some_right_ones_meet_needs_more_evidence():
    few = torch.arange(8)
    wrong = (few > 2) & (few != 4)
    assert condition(few > 2, few > 2, 4) == ("k", 0)
    assert condition(wrong, few > 2, 4) == ("", 0)


def test_a_late_column_needs_more_evidence():
    masks, trial = [torch.tensor([i > 3]) for i in range(7)], [object()] * 7
    trials: Any = [object() for _ in trial]
    values = {id(t): torch.tensor([i]) for i, t in enumerate(trials)}
    columns = [("k", lambda t: values[id(t)])]
    assert separated(trials, masks, columns) == ("k > 3", 0)
    others = [("other", lambda t: 0 * values[id(t)])] * 5
    assert separated(trials, masks, [*others, *columns]) == ("", 0)


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


def not_reset(y: T, x: Mapping[str, T], _: Mapping[str, Any]) -> T:
    """The sum of a row goes on in the next column."""
    return y.cumsum(-1)


def strided(y: T, x: Mapping[str, T], o: Mapping[str, Any]) -> T:
    """Every second window is wrong, if there is a stride and a second window."""
    return (
        torch.where(torch.arange(y.shape[-1]) % 2 == 1, 2 * y, y)
        if max(o["stride"]) > 1
        else y
    )


@pytest.mark.parametrize(
    ("operator", "student", "words"),
    [
        ("gelu", slope, "'output' is wrong only where 'input' > 2 (or any bound"),
        ("gelu", slope, "every wrong element of 'output' equals 'input'"),
        ("add", whole, "in the cases where alpha is not a whole number"),
        ("layer_norm", least, "where `variance` > 0 and `variance` < 0.3 (or any"),
        ("linear", late, "where oc > 7"),
        ("matmul", not_reset, "equals the sum of the right elements from n = 0 up to"),
        ("conv2d", strided, "wrong only in the cases where stride > 1 ("),
    ],
)
def test_where_elements_are_wrong_is_told(operator, student, words):
    assert words in said(operator, student)


def shorter(y: T, x: Mapping[str, T], _: Mapping[str, Any]) -> T:
    """A sum of at most 8 terms."""
    return x["input"][..., :8] @ x["other"][..., :8, :]


def first_twice(y: T, x: Mapping[str, T], _: Mapping[str, Any]) -> T:
    """The first term counts twice."""
    return y + x["input"][..., :1] @ x["other"][..., :1, :]


def odd_negative(y: T, x: Mapping[str, T], _: Mapping[str, Any]) -> T:
    """Every second term is subtracted."""
    return y - 2 * x["input"][..., 1::2] @ x["other"][..., 1::2, :]


def fourth_row(y: T, x: Mapping[str, T], o: Mapping[str, Any]) -> T:
    """The rows of the kernel from the third on are left out."""
    weight = x["weight"].clone()
    weight[:, :, 2:] = 0
    words = [o[name] for name in ("stride", "padding", "dilation", "groups")]
    made: T = torch.nn.functional.conv2d(x["input"], weight, x.get("bias"), *words)
    return made


@pytest.mark.parametrize(
    ("operator", "student", "kind", "words"),
    [
        ("matmul", shorter, "loop_short", "the terms with k >= 8 are missing"),
        ("matmul", first_twice, "factor_wrong", "the terms with k = 0 count twice"),
        ("matmul", odd_negative, "factor_wrong", "k % 2 = 2 - 1 have the wrong sign"),
        ("conv2d", fourth_row, "loop_short", "the terms with kh >= 2 are missing"),
    ],
)
def test_terms_that_are_missing_or_count_with_another_factor(
    operator: str, student: Student, kind: str, words: str
) -> None:
    ((name, mistake),) = name_by_search(operator, trials_of(operator, student))
    assert (name, mistake.name) == ("output", kind)
    assert words in mistake.sentence
