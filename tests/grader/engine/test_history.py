# SPDX-License-Identifier: MIT
"""Points and speed over time are what the ledger's rows add up to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grader.course.tasks import all_tasks
from grader.engine.answers.history import Moment, moments
from grader.engine.answers.ledger import CHECKS, SPEED, Ledger
from tests.grader.engine import results as made

TASK = "02_naive_c/conv2d"
NAME = f"{TASK}/00_definition"
OTHER = "02_naive_c/gelu/00_definition"  # extra


def checks(forward: str, backward: str, sha: str, name: str = NAME) -> dict[str, Any]:
    return {
        "id": name,
        "file": f"labs/{name}.c",
        "sha256": sha,
        "uses": {},
        "checks": [
            made.check("forward", "forward", forward),
            made.check("gradient", "backward", backward),
        ],
        "speed": [],
    }


def recorded(ledger: Ledger, *entries: tuple[str, str, dict[str, Any]]) -> list[Moment]:
    for kind, name, record in entries:
        sha = record.get("sha256", "")
        ledger.keep(kind, name, "key", record, verdicts=[], sha256=sha, seed=1)
    return list(moments(ledger, all_tasks()))


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path)


def test_points_follow_each_answer(ledger: Ledger) -> None:
    found = recorded(
        ledger,
        (CHECKS, NAME, checks("PASS", "NOT_IMPLEMENTED", "a")),
        (CHECKS, NAME, checks("PASS", "PASS", "b")),
        (CHECKS, OTHER, checks("PASS", "PASS", "c", OTHER)),
        (CHECKS, NAME, checks("WRONG_VALUE", "PASS", "d")),
    )
    points = [m.points for m in found]
    assert points[1] == 2 * points[0] > 0
    assert points[2] == points[1] and found[2].extra > 0 == found[1].extra
    assert points[3] == points[0]
    assert [m.task for m in found][:2] == [TASK, TASK]
    assert sorted(m.date for m in found) == [m.date for m in found]


def test_times_add_points_until_another_file_is_timed(ledger: Ledger) -> None:
    band = next(t for t in all_tasks() if t.id == TASK).speed.bands["forward"]
    more = {"case": band.case, "of": band.of, "share": 10.0}
    speed = made.speed(8, "forward", **more)
    entry = checks("PASS", "PASS", "a")
    timed = {NAME: {**entry, "checks": [], "speed": [speed]}}
    other = {NAME: {**timed[NAME], "sha256": "b"}}
    found = recorded(
        ledger,
        (CHECKS, NAME, entry),
        (SPEED, TASK, other),  # of a file that is not the one that was checked
        (SPEED, TASK, timed),
        (CHECKS, NAME, checks("PASS", "PASS", "c")),
    )
    assert found[1].points == found[0].points and not found[1].ratios
    assert found[2].points > found[0].points
    assert found[2].ratios == {"forward": speed["ratio"]} == found[3].ratios


def test_a_task_that_is_gone_is_left_out(ledger: Ledger) -> None:
    gone = "02_naive_c/nothing/00_x"
    assert not recorded(ledger, (CHECKS, gone, checks("PASS", "PASS", "a", gone)))
