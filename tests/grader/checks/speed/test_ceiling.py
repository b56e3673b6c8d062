# SPDX-License-Identifier: MIT
"""What no machine can do: the least that a call takes, and when a time is suspected."""

from __future__ import annotations

from typing import Any

import pytest

from grader import operators
from grader.checks.speed import machine
from grader.checks.speed.ceiling import implausible
from grader.course.bands import Cost
from tests.grader.checks.speed.test_speed import made_cost


@pytest.mark.parametrize(
    ("case", "direction", "products"),
    [
        # a kernel of 3 x 3 over an image of 2 x 2: 16 products meet it, not 36
        ({"IH": 2, "IW": 2, "KH": 3, "KW": 3, "padding": [1, 1]}, "forward", 16 / 5.1),
        ({"IH": 2, "IW": 2, "KH": 3, "KW": 3, "padding": [1, 1]}, "backward", 32 / 5.1),
        ({"IH": 5, "IW": 5, "KH": 5, "KW": 5}, "forward", 25 / 8),
        ({"IH": 2, "IW": 2, "KH": 1, "KW": 1}, "forward", 4),
    ],
)
def test_a_convolution_needs_at_least_what_winograd_leaves_inside(
    case: dict[str, Any], direction: str, products: float
) -> None:
    line = {"name": "x", "N": 3, "IC": 2, "OC": 5, **case}
    found = made_cost("conv2d", operators.get("conv2d").case(line), direction)
    assert found.least == pytest.approx(3 * 2 * 5 * products)


def test_operators_of_data_and_of_elements_are_bounded_by_bytes_alone() -> None:
    for name in ("subm_conv3d", "gelu", "layer_norm"):
        case = next(iter(operators.get(name).speed_cases().values()))
        assert made_cost(name, case, "forward").least == 0, name


@pytest.mark.parametrize(
    ("seconds", "now", "threads", "possible"),
    [
        (0.51, 1.0, 1, True),  # 10 products at 10 a second take a second
        (0.49, 1.0, 1, False),
        (0.49, 1.1, 1, True),  # the peaks were low when they were measured
        (0.26, 1.0, 2, True),
        (0.24, 1.0, 2, False),
    ],
)
def test_half_the_least_time_is_not_believed(
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
    now: float,
    threads: int,
    *,
    possible: bool,
) -> None:
    monkeypatch.setattr(machine, "rate", lambda name: 10 * now)
    monkeypatch.setattr(machine, "bandwidth", lambda size: 100 * now)
    for need in (Cost(0, 0, 1, least=10), Cost(0, 0, 100)):
        peaks = machine.Peaks(10, 1, [(1, 100)], overhead=None)  # type: ignore[arg-type]
        text = implausible(seconds, need, peaks, threads)
        assert (not text) is possible
        assert possible or f"takes {1e3 * seconds:.3g} ms" in text
