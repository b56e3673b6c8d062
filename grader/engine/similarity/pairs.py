# SPDX-License-Identifier: MIT
"""Ranks the pairs of files of different students by what they have in common.

What the course gives does not count: starters, headers, and the solutions of the same
operator. A fingerprint that several students have counts less, because it is then an
obvious way to write the code. A high score is evidence for a person to look at. It
proves nothing: two students may have the same idea.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import PurePosixPath

from grader.course.exhibits import HUNT
from grader.engine.similarity.winnowing import LEXERS, Fingerprints, fingerprints

MANY = 20  # students: what more of them have says nothing
LEAST = 8  # fingerprints of a file: a shorter one is not compared


@dataclass(frozen=True)
class Source:
    """A file of a student."""

    who: str
    place: str  # labs/02_naive_c/gelu/00_definition.c
    text: str
    topic: str  # files of one topic are compared


@dataclass(frozen=True)
class Pair:
    """Two files, and how much of the larger one both have."""

    one: Source
    other: Source
    score: float  # from 0 to 1
    lines: tuple[frozenset[int], frozenset[int]]  # of each file that the other has


def topic_of(place: str) -> str:
    """The operator of a file; of an exhibit the file itself, of any lab."""
    path = PurePosixPath(place)
    if HUNT in path.parts:
        return f"{HUNT}/{path.name}"
    return path.parts[2] if path.parts[1] < "05" else path.stem


def readable(place: str) -> bool:
    """Whether a file can be compared."""
    return PurePosixPath(place).suffix in LEXERS


def ranked(
    sources: Sequence[Source], given: Callable[[str], Collection[int]], *, most: int
) -> list[Pair]:
    """The pairs of different students with the highest scores. `given`: the
    fingerprints of a topic that do not count.
    """
    marks = [own(one, given(one.topic)) for one in sources]
    owners: dict[tuple[str, int], list[int]] = defaultdict(list)
    for number, mine in enumerate(marks):
        for mark in mine if len(mine) >= LEAST else ():
            owners[sources[number].topic, mark].append(number)
    whole = [0.0] * len(sources)
    shared: dict[tuple[int, int], float] = defaultdict(float)
    for numbers in owners.values():
        students = {sources[number].who for number in numbers}
        if len(students) > MANY:
            continue
        weight = 1 / max(1, len(students) - 1)
        for number in numbers:
            whole[number] += weight
        for one, other in combinations(numbers, 2):
            if sources[one].who != sources[other].who:
                shared[one, other] += weight
    scores = {pair: shared[pair] / max(whole[i] for i in pair) for pair in shared}
    best = sorted(scores, key=lambda pair: (-scores[pair], pair))[:most]
    return [_pair(sources, marks, pair, scores[pair]) for pair in best]


def own(source: Source, given: Collection[int]) -> Fingerprints:
    """The fingerprints of a source that the course does not give."""
    found = fingerprints(source.text, PurePosixPath(source.place).suffix)
    return {mark: places for mark, places in found.items() if mark not in given}


def _pair(
    sources: Sequence[Source],
    marks: Sequence[Fingerprints],
    pair: tuple[int, int],
    score: float,
) -> Pair:
    one, other = pair
    both = marks[one].keys() & marks[other].keys()
    lines = tuple(
        frozenset(
            line
            for mark in both
            for first, last in marks[number][mark]
            for line in range(first, last + 1)
        )
        for number in pair
    )
    return Pair(sources[one], sources[other], score, (lines[0], lines[1]))
