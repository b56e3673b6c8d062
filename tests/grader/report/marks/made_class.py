# SPDX-License-Identifier: MIT
"""A class on a desk, drawn from a seed: all kinds of results, none of them graded."""

from __future__ import annotations

import random
from datetime import datetime
from pathlib import Path
from typing import Any

from grader.course.offered.course_file import Course
from grader.engine.marks import desk
from tests import put
from tests.grader.engine import results

NAMES = (
    *("Ada", "Alan", "Alice", "Barbara", "Bob", "Carol", "Dan", "Donald", "Edsger"),
    *("Erin", "Eve", "Frances", "Grace", "Heidi", "Ivan", "Jean", "John", "Judy"),
    *("Ken", "Lynn", "Margaret", "Niklaus", "Radia", "Tony"),
)
MISTAKES = "padding_ignored", "stride_axes_swapped", "bias_forgotten", "no_tanh"
PEOPLE = """
[Alice]
name = "Alice Example"
comment = "A clear improvement since the first week."
tasks."02_naive_c/gelu" = { points = 12, comment = "The idea is right." }
written.q1 = { points = 4, comment = "Without the cost." }
regrades = [
  { of = "02_naive_c/gelu", asked = "Only tanh is wrong.", outcome = "12 points" },
  { of = "q1", asked = "I named the cost in the second sentence." },
]
[Bob]
written.q1 = { points = 5 }
"""
WHEN = "2026-11-01T10:00:00+01:00", "2026-11-10T10:00:00+01:00"


def on_desk(folder: Path, made: Course, *, seed: int = 1) -> None:
    """Put everybody on the desk of a course."""
    chance = random.Random(seed)
    for number, name in enumerate(NAMES):
        good = chance.random()
        entries = [
            _task(task, offer.points, good, chance)
            for task, offer in made.offers.items()
        ]
        desk.keep(
            folder,
            name,
            results.whole(entries),
            when=datetime.fromisoformat(WHEN[number % 7 == 0]),
            written={task: {f"labs/{task}/00.c": "a hash"} for task in made.offers},
            left={"labs/02_naive_c/gelu/00_definition (1).c": "its name"},
            tasks=list(made.offers),
            made=made,
        )
    desk.refuse(folder, "Zoe", "zoe.rar is a RAR archive", list(made.offers))
    put(folder / desk.PEOPLE, PEOPLE)


def _task(
    name: str, worth: float, good: float, chance: random.Random
) -> dict[str, Any]:
    """A task of somebody who is so good."""
    right = sum(chance.random() < good + 0.2 for _ in range(4))
    rungs = [results.rung(name, step) for step in range(3)]
    for step, entry in enumerate(rungs):
        if right == 4 or step < right:
            more = {"ratio": good * (1 + step) * chance.uniform(0.8, 1.2)}
            more |= {"low": more["ratio"] * 0.97, "high": more["ratio"] * 1.03}
            entry["speed"] = [results.speed(step, "forward", **more)]
        else:
            entry["checks"] = [_wrong(name, chance), *results.passing()[3:]]
    return results.task(name, rungs, points=worth * right / 4, of=worth)


def _wrong(name: str, chance: random.Random) -> dict[str, Any]:
    """A check that did not pass, with all that a student must not read."""
    verdict = chance.choice(
        ["WRONG_VALUE"] * 6 + ["NOT_IMPLEMENTED"] * 3 + ["CRASH", "SUSPECT", "NOISY"]
    )
    mistake = chance.choice(MISTAKES) if verdict == "WRONG_VALUE" else None
    return results.check(
        "forward",
        "forward",
        verdict,
        message="hidden_nine: 'output'[0, 0] is 730417, expected 2",
        location="labs/x.c:379",
        replay=f"make debug T={name} CASE=hidden_seed_2_3 SEED=730417",
        mistake=mistake,
    )
