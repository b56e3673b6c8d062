# SPDX-License-Identifier: MIT
"""erf and tanh of lab 03's gelu are as close to the exact values as their rung says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import put
from tests.labs import ulp

STEP = (
    257  # prime to the floats' number: all exponents, and other last digits each time
)
SAID = [name for name, function in ulp.FUNCTIONS.items() if function.most]


@pytest.mark.parametrize("name", SAID)
def test_no_float_is_off_by_more_than_the_rung_says(name: str, tmp_path: Path) -> None:
    function = ulp.FUNCTIONS[name]
    found = ulp.walk(function, ulp.program(function, tmp_path, ulp.NATIVE), STEP)
    assert found.tried > 2**32 * 0.99 / STEP
    assert found.nonsense == 0
    assert found.worst <= (function.most or 0)
    head = (ulp.LADDER / f"{function.rung}.c").read_text().partition("*/")[0]
    assert f"{function.most}" in head and name in head


def test_a_digit_less_in_a_coefficient_is_seen(tmp_path: Path) -> None:
    function = ulp.FUNCTIONS["erf"]
    text = (ulp.LADDER / f"{function.rung}.c").read_text()
    assert text.count("1.142566800e-01") == 1
    worse = put(tmp_path / "worse.c", text.replace("1.142566800e-01", "1.1426e-01"))
    found = ulp.walk(function, ulp.program(function, tmp_path, ulp.NATIVE, worse), STEP)
    assert found.worst > 2 * (function.most or 0)
