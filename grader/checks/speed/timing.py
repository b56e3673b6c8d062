# SPDX-License-Identifier: MIT
"""Measures which of several sides is faster, and how many times as fast.

A round takes one short sample of every side, in a new random order. So if something
slows the machine, it slows all sides. Time that a side spent waiting for its core is
not counted. After such a wait the caches have changed. So these rounds are left out, if
enough others remain. The answer is the median of the paired ratios, with a 95 %
interval. Neighbouring rounds resemble each other, so the interval comes from a
bootstrap of blocks of rounds. Kuensch describes it in The Jackknife and the Bootstrap
for General Stationary Observations, 1989. If the interval is not narrow enough, nothing
is known.
"""

from __future__ import annotations

import math
import os
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from grader.checks.speed.estimate import NOISY, Estimate

SAMPLE = 0.3e-3  # seconds: well below the slices that schedulers give
LOST = 0.02  # of a sample spent waiting for the core: the round counts as disturbed
ROUNDS = 31  # at least so many that count, for sides of ordinary speed
ROUNDS_SLOW = 9  # and for sides that take long
ROUNDS_DECIDED = 3  # and where nothing that could still come changes the outcome
NARROW = 0.02  # half of the interval's width at which measuring stops
PAUSE = 0.3  # seconds between two attempts
BLOCK = 5  # rounds that are drawn together
RESAMPLES = 2000
LEVEL = 0.95
MOST = 0.9  # of the rounds, for an outcome that the others cannot change


@dataclass(frozen=True)
class Sample:
    """The time of one call on its core, and whether others had the core meanwhile."""

    seconds: float
    clean: bool = True

    @classmethod
    def of(cls, wall_ns: int, lost_ns: int, calls: int) -> Sample:
        """From the time of all calls together, `lost_ns` of it spent waiting."""
        seconds = max(1, wall_ns - lost_ns) * 1e-9 / calls
        return cls(seconds, lost_ns <= LOST * wall_ns)


class Side(Protocol):
    """One of the things that are compared."""

    def prepare(self) -> None:
        """Put fresh inputs in place; not timed."""

    def sample(self) -> Sample:
        """Do the work once, and say how long it took."""


@dataclass
class Rounds:
    """The samples of all sides, round by round."""

    seconds: dict[str, list[float]]
    clean: list[bool]

    @property
    def chosen(self) -> np.ndarray:
        """Numbers of the rounds that count: the clean ones, if there are enough."""
        clean = np.flatnonzero(self.clean)
        enough = len(clean) >= ROUNDS or 2 * len(clean) >= len(self.clean)
        return clean if enough else np.arange(len(self.clean), dtype=np.intp)

    @property
    def count(self) -> int:
        """Rounds that count."""
        return len(self.chosen)

    @property
    def dropped(self) -> int:
        """Rounds that do not."""
        return len(self.clean) - self.count

    def of(self, side: str) -> np.ndarray:
        """Seconds of a call, by round that counts."""
        every = np.array(self.seconds[side], dtype=np.float64)
        return np.asarray(every[self.chosen])

    def median(self, side: str) -> float:
        """Median seconds of a call."""
        return float(np.median(self.of(side)))

    def ratio(self, over: str, under: str) -> Estimate:
        """How many times as long `over` takes as `under`."""
        return interval(np.log(self.of(over)) - np.log(self.of(under)))

    def spread(self, over: str, under: str) -> tuple[float, float]:
        """Where nearly all ratios of single rounds lie, disturbed ones too."""
        every = np.array(self.seconds[over]) / np.array(self.seconds[under])
        low, high = np.quantile(every, [(1 - MOST) / 2, (1 + MOST) / 2])
        return float(low), float(high)

    def steady(self, over: str, under: str) -> bool:
        """Whether both halves of the run say the same."""
        logs = np.log(self.of(over)) - np.log(self.of(under))
        half = len(logs) // 2
        return abs(float(np.median(logs[:half]) - np.median(logs[half:]))) <= NOISY


def interval(logs: np.ndarray, seed: int = 0) -> Estimate:
    """The median of log ratios as a ratio, with its interval."""
    rng = np.random.default_rng(seed)
    blocks = math.ceil(len(logs) / BLOCK)
    starts = rng.integers(0, len(logs), (RESAMPLES, blocks, 1))
    places = (starts + np.arange(BLOCK)) % len(logs)
    drawn = logs[places.reshape(RESAMPLES, -1)[:, : len(logs)]]
    medians = np.median(drawn, axis=1)
    low, high = np.quantile(medians, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    middle = np.median(logs)
    return Estimate(*(float(np.exp(x)) for x in (middle, low, high)))


def measure(
    sides: dict[str, Side],
    *,
    of: Sequence[tuple[str, str]],
    rng: random.Random,
    budget: float,
    longest: float = 0.0,
    before: Callable[[], None] = lambda: None,
    after: Callable[[], None] = lambda: None,
    decided: Callable[[Rounds], bool] = lambda _: False,
) -> Rounds:
    """Take rounds until every ratio in `of` is narrow, or `budget` seconds are spent.

    `before` is called before each round, to draw its inputs: those of the first are not
    those that sides were warmed up with. `after` is called behind each, to look at
    results. `decided` says whether the rounds are enough, however few or wide they are;
    it is asked when time is up. There are fewer than ROUNDS_SLOW rounds only if so many
    need more than three budgets and more than `longest` seconds.
    """
    rounds = Rounds({name: [] for name in sides}, [])
    begin = time.monotonic()
    warm_up(sides, budget / 4)
    while True:
        before()
        one_round(sides, rounds, rng)
        after()
        spent = time.monotonic() - begin
        taken = len(rounds.clean)
        if spent > budget and taken >= ROUNDS_DECIDED and decided(rounds):
            return rounds
        enough = rounds.count >= ROUNDS_SLOW or spent > max(3 * budget, longest)
        if spent > budget and enough:
            return rounds
        if rounds.count < ROUNDS or taken % 8:
            continue
        if all(rounds.ratio(*pair).half_width < NARROW for pair in of):
            return rounds


def settle(
    sides: dict[str, Side],
    wanted: tuple[str, str],
    *,
    seed: int,
    budget: float,
    tries: int,
    longest: float = 0.0,
    before: Callable[[], None] = lambda: None,
    after: Callable[[], None] = lambda: None,
    decided: Callable[[Rounds], bool] = lambda _: False,
) -> tuple[Rounds, bool]:
    """Measure until the wanted ratio is known, `tries` times at most.

    Returns the last rounds, and whether they can be relied on: enough of them, the same
    in both halves, and the interval narrow.
    """
    for attempt in range(tries):
        if attempt:
            time.sleep(PAUSE)
        rng = random.Random(seed + attempt)
        rounds = measure(
            sides,
            of=[wanted],
            rng=rng,
            budget=budget,
            longest=longest,
            before=before,
            after=after,
            decided=decided,
        )
        if len(rounds.clean) >= ROUNDS_DECIDED and decided(rounds):
            return rounds, True
        enough = rounds.count >= ROUNDS_SLOW and rounds.steady(*wanted)
        if enough and not rounds.ratio(*wanted).noisy:
            return rounds, True
    return rounds, False


def warm_up(sides: dict[str, Side], budget: float) -> None:
    """A few calls of each, until they agree within 5 % or the time is spent."""
    for side in sides.values():
        end = time.monotonic() + budget / len(sides)
        seen: list[float] = []
        while time.monotonic() < end:
            side.prepare()
            seen.append(side.sample().seconds)
            last = seen[-3:]
            if len(last) == 3 and max(last) < 1.05 * min(last):
                break


def one_round(sides: dict[str, Side], rounds: Rounds, rng: random.Random) -> None:
    """One sample of each side, in random order."""
    order = list(sides)
    rng.shuffle(order)
    found: dict[str, Sample] = {}
    for name in order:
        sides[name].prepare()
        found[name] = sides[name].sample()
    for name, sample in found.items():
        rounds.seconds[name].append(sample.seconds)
    rounds.clean.append(all(sample.clean for sample in found.values()))


class Stopwatch:
    """Times a function in this thread, and sees when the thread had to wait."""

    def __init__(self) -> None:
        try:
            self._queue = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
        except OSError:
            self._queue = -1

    def __del__(self) -> None:
        if self._queue >= 0:
            os.close(self._queue)

    def _waited(self) -> int:
        """Nanoseconds this thread was ready to run and did not."""
        if self._queue < 0:
            return 0
        return int(os.pread(self._queue, 128, 0).split()[1])

    def now(self) -> float:
        """Seconds by a clock that stands still while this thread waits for a core."""
        return 1e-9 * (time.perf_counter_ns() - self._waited())

    def time(self, work: Callable[[], object], calls: int = 1) -> Sample:
        """Run `work`, which does `calls` calls."""
        waited, worked = self._waited(), time.process_time_ns()
        start = time.perf_counter_ns()
        work()
        wall = time.perf_counter_ns() - start
        idle = wall - (time.process_time_ns() - worked)
        return Sample.of(wall, max(0, min(idle, self._waited() - waited)), calls)
