# SPDX-License-Identifier: MIT
"""The machine peaks: a rate is what was moved in the time that a clock tells."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from grader.checks.speed import machine
from tests.grader.checks.speed.test_speed import CASE, GELU_BODY, timed


@pytest.mark.parametrize("seconds", [1e-3, 2e-3])
def test_a_bandwidth_is_bytes_by_the_time_they_took(
    monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    """Three arrays of a million floats, by a clock that is made up."""
    asked: list[int] = []

    def triad(*arguments: int) -> int:
        asked.append(arguments[3])
        return 12 * arguments[3] * arguments[4]

    clock = (seconds * tick for tick in count())
    library = SimpleNamespace(rates_triad=triad)
    monkeypatch.setattr(machine, "_rates", lambda: library)
    fake = SimpleNamespace(perf_counter=lambda: next(clock))
    monkeypatch.setattr(machine, "time", fake)
    assert machine.bandwidth(12 << 20) == pytest.approx(12 * (1 << 20) / seconds)
    assert set(asked) == {1 << 20}


@pytest.fixture(params=[1e10, 2e10])
def peaks(request: pytest.FixtureRequest, tools: Path) -> Iterator[machine.Peaks]:
    """A peaks whose numbers are made up: the last one stands for memory."""
    measured = [(1 << 15, 7e10), (1 << 28, request.param)]
    with machine.Peaks(fma=1e10, multiply_add=1e9, bandwidth=measured) as made:
        yield made


def test_a_share_of_the_bandwidth_is_that_of_memory(
    compile_gelu: Callable[..., dict[str, Path]], peaks: machine.Peaks
) -> None:
    found = timed(compile_gelu(GELU_BODY), peaks, "bandwidth")
    assert found.share and found.gbs
    rate = 1e9 * found.gbs
    assert found.share.value == pytest.approx(rate / peaks.bandwidth[-1][1])
    assert found.share.low <= found.share.value <= found.share.high


def test_a_share_of_the_peak_is_in_multiply_adds(
    compile_gelu: Callable[..., dict[str, Path]], peaks: machine.Peaks
) -> None:
    """gelu has no multiply-adds to speak of: one stands for two operations."""
    found = timed(compile_gelu(GELU_BODY), peaks, "fma")
    assert found.share and found.of == "fma"
    work = math.prod(CASE.shapes["input"])
    assert found.ms
    at_most = work / (1e-3 * found.ms) / machine.rate("fma")
    assert 0.2 < found.share.value / at_most < 5  # the machine is not quiet


def test_a_peak_that_moved_is_told() -> None:
    assert machine.shaken(None) == machine.shaken({"moved": machine.MOVED}) == ""
    said = machine.shaken({"moved": 0.123})
    assert said.startswith("the peak speed of this machine changed by 12 %")
