# SPDX-License-Identifier: MIT
"""What a run did not look at: the ledger's newest answer, else that of results.json."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from grader.checks.check_result import CheckResult
from grader.engine import results
from grader.engine.answers import earlier_links, ledger, records
from grader.engine.answers.ledger import CHECKS, SPEED, Ledger
from grader.engine.merge import merged
from grader.engine.score import RungResult, TaskResult
from grader.errors import GraderError
from grader.verdicts import Verdict
from tests.grader.engine.test_score import (
    FAST,
    FIRST,
    SECOND,
    TIMED,
    as_run,
    merge,
    own_results,
    rung,
    task,
    timed,
)

__all__ = ["own_results"]  # a fixture
BOTH = task(FIRST, SECOND)
RIGHT = rung("PASS", "PASS", name="test_grade.py")  # what SECOND is about
SLOWER = timed("test_grade.py", "PASS", 0.2)


@pytest.fixture
def kept(own_results: None) -> Iterator[Ledger]:
    with Ledger(results.folder()) as found:
        yield found


def keep(into: Ledger, result: RungResult, key: str = "x", asked: str = "") -> None:
    records.keep(into, key, result, asked=asked, seed=7, seconds=1.0)


def keep_times(into: Ledger, *found: RungResult, faults: tuple[str, ...] = ()) -> None:
    """A race of right files: those with a time, and what only the race has seen."""
    before = [replace(one, speeds=()) for one in found]
    fault = [CheckResult("speed", d, Verdict.WRONG_VALUE) for d in faults]
    after = [replace(one, checks=(*one.checks, *fault)) for one in found]
    run = TaskResult(TIMED, tuple(before)), TaskResult(TIMED, tuple(after))
    records.keep_speeds(into, "y", *run, seed=7)


def said(kept: Ledger, of: RungResult) -> list[str]:
    """Both verdicts of a file, by the ledger."""
    found = records.last(kept, of.rung)
    assert found
    return [str(found.verdict(direction)) for direction in ("forward", "backward")]


def test_the_ledger_is_believed_before_results_json(kept: Ledger) -> None:
    merge(BOTH)
    keep(kept, RIGHT)
    (found,) = merged([as_run(BOTH, FIRST)], 2, None, kept).tasks
    second = found.rungs[0]
    assert (second.rung, second.checks) == (SECOND.rung, RIGHT.checks)
    assert second.since and second.since.seed == 7
    assert earlier_links.earlier()(SECOND.rung, "forward") == "PASS"


def test_what_the_ledger_does_not_know_stays_as_results_json_has_it(
    kept: Ledger,
) -> None:
    merge(BOTH)
    (found,) = merged([as_run(BOTH, FIRST)], 2, None, kept).tasks
    assert [one.verdict("forward") for one in found.rungs] == ["CRASH", "PASS"]
    earlier = earlier_links.earlier()
    assert earlier(SECOND.rung, "forward") == "CRASH"
    assert earlier(rung(name="test_plan.py").rung, "forward") is None


def test_of_each_direction_the_newest_answer_counts(kept: Ledger) -> None:
    keep(kept, RIGHT)
    keep(kept, rung("CRASH", name="test_grade.py"), "new", asked="forward")
    assert said(kept, RIGHT) == ["CRASH", "PASS"]
    keep(kept, RIGHT, "newer")
    assert said(kept, RIGHT) == ["PASS", "PASS"]


def test_an_answer_that_holds_again_is_the_newest_again(kept: Ledger) -> None:
    for key, found in ("old", RIGHT), ("new", SECOND):
        keep(kept, found, key)
    assert said(kept, RIGHT) == ["CRASH", "CRASH"]
    row = kept.answer(CHECKS, RIGHT.rung.id, "old")
    assert row
    for _ in range(2):
        kept.renew(row)
        assert said(kept, RIGHT) == ["PASS", "PASS"]
        row = kept.answer(CHECKS, RIGHT.rung.id, "old")
    assert len(kept.rows(CHECKS, RIGHT.rung.id, RIGHT.rung.sha256)) == 3


def test_times_and_what_only_timing_has_seen_are_known_too(kept: Ledger) -> None:
    for found in (FAST, SLOWER):
        keep(kept, replace(found, speeds=()))
    keep_times(kept, FAST)
    found = records.last(kept, FAST.rung)
    assert found and found.speeds == FAST.speeds
    keep_times(kept, SLOWER)  # the newest race had another winner
    found = records.last(kept, FAST.rung)
    assert found and found.speeds == ()
    keep_times(kept, SLOWER, faults=("forward",))
    assert said(kept, SLOWER)[0] == "WRONG_VALUE"
    assert len(kept.rows(SPEED, TIMED.id)) == 3


def test_times_of_another_content_are_not_known(
    kept: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_times(kept, FAST)
    monkeypatch.setattr(type(FAST.rung), "sha256", "0" * 64)
    keep(kept, replace(FAST, speeds=()))
    found = records.last(kept, FAST.rung)
    assert found and found.speeds == ()


def test_without_sqlite_a_sentence_says_what_to_do(
    own_results: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "sqlite3", None)
    with pytest.raises(GraderError, match=r"no module sqlite3.*libsqlite3-dev"):
        Ledger(results.folder())
    assert records.last_said(results.folder(), FIRST.rung) is None
