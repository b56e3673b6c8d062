# SPDX-License-Identifier: MIT
"""The stopwatch on sides whose times are made up: no clock, so no luck.

Also that the long proofs of `make stress` say so where a number is not as wanted.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from grader.checks.speed import timing
from grader.checks.speed.timing import Rounds, Sample
from grader.course.tasks import all_tasks
from tests.grader.checks.memory import border
from tests.grader.checks.speed import stopwatch_page


class Made:
    """A side that says what it is told to say."""

    def __init__(self, seconds: Callable[[], float], disturbed: float = 0.0) -> None:
        self.seconds = seconds
        self.disturbed = disturbed
        self.rng = random.Random(1)
        self.prepared = 0

    def prepare(self) -> None:
        """Count how often it was asked."""
        self.prepared += 1

    def sample(self) -> Sample:
        """The next time; some are disturbed, and wrong."""
        if self.rng.random() < self.disturbed:
            return Sample(100 * self.seconds(), clean=False)
        return Sample(self.seconds())


def noisy(seconds: float, spread: float, seed: int) -> Callable[[], float]:
    """Times around `seconds`, log-normal."""
    rng = np.random.default_rng(seed)
    return lambda: float(seconds * np.exp(spread * rng.standard_normal()))


def settle(a: Made, b: Made, tries: int = 1, **more: Any) -> tuple[Rounds, bool]:
    """Compare two made-up sides."""
    sides: dict[str, timing.Side] = {"a": a, "b": b}
    return timing.settle(sides, ("a", "b"), seed=1, budget=0.05, tries=tries, **more)


def pair(spread: float, seconds: float = 1e-4, **more: float) -> tuple[Made, Made]:
    """Two sides of which the first takes 1.5 times as long."""
    first = Made(noisy(3 * seconds, spread, 1), **more)
    return first, Made(noisy(2 * seconds, spread, 2))


def test_ratio_is_that_of_the_medians() -> None:
    rounds, settled = settle(*pair(0.02))
    ratio = rounds.ratio("a", "b")
    assert settled and ratio.low <= 1.5 <= ratio.high
    assert ratio.half_width < timing.NARROW
    assert rounds.count >= timing.ROUNDS


def test_disturbed_rounds_do_not_count_where_others_are_left() -> None:
    rounds, settled = settle(*pair(0.01, disturbed=0.4))
    assert settled and rounds.dropped > 0
    assert abs(rounds.ratio("a", "b").value / 1.5 - 1) < 0.02


def some_rounds(a: timing.Side, b: timing.Side, count: int) -> Rounds:
    """So many rounds of two sides, in an order that is drawn."""
    rounds, rng = Rounds({"a": [], "b": []}, []), random.Random(3)
    for _ in range(count):
        timing.one_round({"a": a, "b": b}, rounds, rng)
    return rounds


def test_slow_sides_that_are_always_disturbed_are_still_compared() -> None:
    """Time in the queue is taken off each sample, so such rounds mean something."""
    rounds = some_rounds(*pair(0.01, 1e-2), timing.ROUNDS_SLOW)
    rounds.clean[:] = [False] * len(rounds.clean)
    assert (rounds.count, rounds.dropped) == (timing.ROUNDS_SLOW, 0)


def test_wild_times_are_noisy_and_never_a_guess() -> None:
    rounds, settled = settle(*pair(2.0))
    assert not settled and rounds.ratio("a", "b").noisy


def test_a_machine_that_changes_halfway_is_noisy() -> None:
    calls = iter(range(10**6))
    drifting = Made(lambda: 3e-4 if next(calls) < 40 else 3.6e-4)
    assert not some_rounds(drifting, Made(lambda: 2e-4), 80).steady("a", "b")


def test_the_second_attempt_counts_when_the_first_was_noisy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(timing, "PAUSE", 0.0)
    attempts: Iterator[int] = iter(range(5))
    inner = timing.measure

    def measure(sides: dict[str, timing.Side], **options: object) -> Rounds:
        if next(attempts) == 0:
            sides = dict(zip("ab", pair(2.0)))
        return inner(sides, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(timing, "measure", measure)
    rounds, settled = settle(*pair(0.01), tries=3)
    assert settled and next(attempts) == 2
    assert abs(rounds.ratio("a", "b").value / 1.5 - 1) < 0.02


def test_order_within_a_round_is_drawn() -> None:
    order: list[str] = []
    a, b = (Made(lambda name=name: order.append(name) or 1e-4) for name in "ab")
    some_rounds(a, b, 200)
    assert 70 < order[::2].count("a") < 130


def test_every_sample_has_fresh_inputs() -> None:
    a, b = pair(0.0)
    rounds, _ = settle(a, b)
    assert min(a.prepared, b.prepared) >= len(rounds.clean)


def test_interval_covers_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(5)
    inside = 0
    for trial in range(200):
        found = timing.interval(np.log(1.5) + 0.05 * rng.standard_normal(60), trial)
        inside += found.low <= 1.5 <= found.high
    assert inside >= 176  # 95 % of 200 is 190; blocks of so few rounds cover a bit less


def test_waiting_is_taken_off_and_marks_a_sample() -> None:
    sample = Sample.of(wall_ns=1_000_000, lost_ns=400_000, calls=2)
    assert sample.seconds == pytest.approx(3e-4)
    assert not sample.clean
    assert Sample.of(1_000_000, 1_000, 1).clean


def test_the_stopwatch_does_not_count_time_in_the_queue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 10 ms, 4 were spent waiting for the core, as the system tells it."""
    ticks = iter((0, 4_000_000))
    monkeypatch.setattr(timing.Stopwatch, "_waited", lambda _: next(ticks))
    start = time.perf_counter()
    found = timing.Stopwatch().time(lambda: time.sleep(0.01))
    wall = time.perf_counter() - start
    assert 0.0059 < found.seconds < wall - 0.0039
    assert not found.clean


def test_sleeping_is_not_waiting_for_a_core() -> None:
    """It counts, whoever does it. The best of ten: the system tells of waiting in calls
    of their own, and a thread that waits between such a call and the clock loses that.
    """
    watch = timing.Stopwatch()
    samples = [watch.time(lambda: time.sleep(0.01)) for _ in range(10)]
    assert max(sample.seconds for sample in samples) >= 0.009


BUSY, QUIET = stopwatch_page.BUSY, stopwatch_page.QUIET


@pytest.mark.parametrize(
    ("where", "found", "wrong"),
    [
        (BUSY, [1.5] * 25 + [None] * 25, []),
        (BUSY, [1.5] * 25 + [None] * 26, [f"{BUSY.name}: 26 of 51 runs are NOISY"]),
        (QUIET, [1.5] * 25 + [1.35], ["quiet: a run is off by 10.0 %"]),
        (BUSY, [None, None], [f"{BUSY.name}: 2 of 2 runs are NOISY"]),
    ],
)
def test_the_proof_of_the_ratio_can_fail(
    where: stopwatch_page.Machine, found: list[float | None], wrong: list[str]
) -> None:
    """python -m tests.proofs.stress stopwatch."""
    row = stopwatch_page.ratio_row(where, found)
    assert row.wrong == wrong
    assert ("-" in row.rows[0]) == (found == [None, None])


def test_the_proofs_of_fairness_and_points_can_fail() -> None:
    assert stopwatch_page.unfair("add", 0.96) == []
    assert "6.0 %" in stopwatch_page.unfair("add", 1.06)[0]
    task = next(task for task in all_tasks() if task.speed)
    assert stopwatch_page.points_row(task, [0.5, 0.5], 1).wrong == []
    assert "0.25 to 0.5" in stopwatch_page.points_row(task, [0.25, 0.5], 0).wrong[0]
    assert stopwatch_page.points_row(task, [], 40).wrong
    empty = dict.fromkeys(stopwatch_page.HEADS, stopwatch_page.Table([], []))
    assert "within 5 % or NOISY, at most 25 of\n50" in stopwatch_page.page(empty)


def test_the_proof_of_the_border_can_fail() -> None:
    """python -m tests.grader.checks.memory.border."""
    fast = {"checked": 90.0, "timed": 3.0, "gradcheck": 0.5}
    assert border.too_slow("none", fast) == []
    (sentence,) = border.too_slow("none", {**fast, "timed": 11.0})
    assert "timed takes 11, at most 10" in sentence
    assert "at most 90 us" in border.EXPLAINED


def test_noise_that_changes_nothing_is_not_noise() -> None:
    """Rounds from 0.5 to 4: wide, but every one of them above 0.1."""
    a, b = pair(0.5)
    wide, settled = settle(a, b)
    low, high = wide.spread("a", "b")
    assert not settled and 0.1 < low < 1.5 < high
    above = {"decided": lambda rounds: rounds.spread("a", "b")[0] > 0.1}
    _, settled = settle(a, b, **above)
    assert settled


def test_a_side_that_takes_long_is_decided_after_a_few_rounds() -> None:
    taken: list[int] = []
    sides: dict[str, timing.Side] = {"a": Made(lambda: 3.0), "b": Made(lambda: 1e-4)}
    timing.measure(
        sides,
        of=[("b", "a")],
        rng=random.Random(1),
        budget=0.02,
        after=lambda: time.sleep(0.012),
        decided=lambda rounds: taken.append(len(rounds.clean)) or True,
    )
    assert taken == [timing.ROUNDS_DECIDED]


@pytest.mark.parametrize(("longest", "rounds"), [(0.0, 2), (100.0, timing.ROUNDS_SLOW)])
def test_a_small_budget_still_has_the_fewest_rounds(
    monkeypatch: pytest.MonkeyPatch, longest: float, rounds: int
) -> None:
    """A round takes a second here, three budgets are 1.5 s."""
    now = [0.0]

    def renew() -> None:
        now[0] += 1.0

    monkeypatch.setattr(timing.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(timing, "warm_up", lambda *_: None)
    a, b = Made(lambda: 3e-4), Made(lambda: 2e-4)
    budget = {"seed": 1, "budget": 0.5, "longest": longest}
    sides: dict[str, timing.Side] = {"a": a, "b": b}
    found, settled = timing.settle(sides, ("a", "b"), tries=1, before=renew, **budget)
    assert (found.count, settled) == (rounds, rounds == timing.ROUNDS_SLOW)
