# SPDX-License-Identifier: MIT
"""The words of `values` are explained in one place, and the numbers there are true."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from signatures.of_exhibits import ALL

from grader import operators
from grader.operators import values
from grader.operators.entry import Operator

SEED = 5


def first_of(operator: Operator, word: str) -> torch.Tensor:
    """The first input of the operator's first case with these numbers."""
    case = replace(operator.cases(SEED)[0], values=word)
    return next(iter(operator.inputs(case, torch.float64, SEED).values()))


@pytest.mark.parametrize("name", ALL)
def test_no_case_has_another_word(name: str) -> None:
    operator = operators.get(name)
    assert {case.values for case in operator.cases(SEED)} <= set(values.WORDS)


@pytest.mark.parametrize("name", ALL)
def test_far_and_large_numbers_stand_in_the_case_file_of_whoever_has_them(
    name: str,
) -> None:
    operator = operators.get(name)
    used = {case.values for case in operator.cases(SEED, drawn=0)}
    model = next(c for c in operator.cases(SEED) if operator.elements(c))
    normal = operator.inputs(model, torch.float64, SEED)
    for word in ("far", "large"):
        case = replace(model, values=word)
        drawn = operator.inputs(case, torch.float64, SEED)
        differs = any(not torch.equal(drawn[key], normal[key]) for key in normal)
        assert differs == (word in used), word


def test_the_numbers_are_those_that_are_written() -> None:
    gelu, norm = operators.get("gelu"), operators.get("layer_norm")
    whole = first_of(gelu, "integers").abs()
    assert whole.min() >= 2049 and whole.max() <= 4095 and bool((whole % 2 == 1).all())
    whole = first_of(gelu, "short_integers").abs()
    assert whole.min() >= 1025 and whole.max() <= 2047 and bool((whole % 2 == 1).all())
    normal, wide = first_of(gelu, "normal"), first_of(gelu, "wide")
    assert bool(((wide / normal).log10().abs() <= 3).all())
    wider = first_of(gelu, "wider")
    assert bool(((wider / normal).log10().abs() <= 5).all())
    tiny = first_of(gelu, "tiny")
    assert torch.allclose(tiny, normal * 1e-40, atol=0)
    far = first_of(norm, "far")
    assert torch.allclose(far, first_of(norm, "normal") + 10000)
    large = first_of(operators.get("elu"), "large")
    assert torch.allclose(large, first_of(operators.get("elu"), "normal") * 1000)
    assert first_of(gelu, "nan").isnan().sum() == 1
    assert first_of(gelu, "infinite").isinf().sum() == 1
