# SPDX-License-Identifier: MIT
"""Verdicts become points: halves, the best rung, pending, and the exit status."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from grader.checks.check_result import CheckResult
from grader.checks.speed.speed import Speed
from grader.checks.speed.timing import Estimate
from grader.course import renamed
from grader.course.bands import Band, SpeedTask
from grader.course.rungs import Rung, Task
from grader.course.tasks import select
from grader.engine import results
from grader.engine.score import RungResult, TaskResult, exit_status
from grader.errors import GraderError
from grader.report import reservations, terminal
from grader.report.page import page
from grader.report.terminal import _cells
from grader.verdicts import Verdict

HERE = Path(__file__)
LADDER = "02_naive_c/matmul"


def rung(
    forward: str = "", backward: str = "", *, name: str = "", uses: dict | None = None
) -> RungResult:
    """A rung with a verdict for each direction, "" for none."""
    checks = []
    for direction, verdict in (("forward", forward), ("backward", backward)):
        if verdict:
            checks.append(CheckResult("forward", direction, Verdict(verdict)))
    file = HERE.with_name(name) if name else HERE
    return RungResult(Rung(LADDER, file), tuple(checks), uses or {})


def task(*rungs: RungResult, points: float = 4.0) -> TaskResult:
    ladder = Task(
        "02_naive_c", "matmul", "c", points, rungs=tuple(r.rung for r in rungs)
    )
    return TaskResult(ladder, rungs)


@pytest.mark.parametrize(
    ("forward", "backward", "points"),
    [
        ("PASS", "PASS", 4),
        ("PASS", "WRONG_GRADIENT", 2),
        ("CRASH", "PASS", 2),
        ("PASS", "", 2),
        ("NOT_IMPLEMENTED", "NOT_IMPLEMENTED", 0),
        ("", "", 0),
    ],
)
def test_each_direction_is_worth_half(forward, backward, points):
    assert task(rung(forward, backward)).points == points


def test_a_direction_counts_once_however_many_rungs_pass():
    assert task(rung("PASS", "PASS"), rung("PASS", "PASS")).points == 4


def test_a_rung_that_needs_a_gpu_counts_only_if_there_is_no_other():
    pending = rung("PENDING_GPU", "PENDING_GPU")
    card = replace(pending, rung=replace(pending.rung, needs="gpu"))
    wrong = task(rung("WRONG_VALUE", "PASS"), card)
    assert (wrong.points, wrong.pending, wrong.ok) == (2, 0, False)
    assert (task(card).points, task(card).pending, task(card).ok) == (0, 4, True)


def test_directions_may_come_from_different_rungs():
    assert task(rung("PASS", "CRASH"), rung("", "PASS")).points == 4


def test_a_wrong_rung_costs_nothing():
    assert task(rung("PASS", "PASS"), rung("BUILD", "BUILD")).points == 4


def test_a_direction_passes_only_if_all_its_checks_do():
    checks = [
        CheckResult("forward", "forward", Verdict.PASS),
        CheckResult("module", "forward", Verdict.WRONG_VALUE),
    ]
    found = RungResult(Rung(LADDER, HERE), tuple(checks))
    assert found.verdict("forward") is Verdict.WRONG_VALUE
    assert task(found).points == 0


@pytest.mark.parametrize("verdict", [v for v in Verdict if v.pending])
def test_a_pending_direction_is_neither_earned_nor_lost(verdict):
    found = task(rung("PASS", verdict))
    assert (found.points, found.pending) == (2, 2)


@pytest.mark.parametrize("verdict", [v for v in Verdict if not v.ok])
def test_every_other_verdict_earns_nothing_and_is_not_pending(verdict):
    found = task(rung(verdict, verdict))
    assert (found.points, found.pending) == (0, 0)


def test_a_passing_rung_is_worth_more_than_a_pending_one():
    found = task(rung("GRADER", "GRADER"), rung("PASS", "CRASH"))
    assert (found.points, found.pending) == (2, 2)


def test_a_ladder_without_files_has_no_verdict_and_no_points():
    found = task()
    assert found.best("forward") is None
    assert (found.points, found.pending) == (0, 0)


def test_exit_status_is_zero_when_all_passed_or_is_pending():
    assert exit_status([task(rung("PASS", "PASS")), task(rung("PASS", "NOISY"))]) == 0


@pytest.mark.parametrize("verdict", [v for v in Verdict if not v.ok])
def test_exit_status_is_one_when_something_is_to_be_mended(verdict):
    assert exit_status([task(rung("PASS", "PASS")), task(rung("PASS", verdict))]) == 1


def test_exit_status_is_zero_when_a_wrong_rung_stands_beside_a_right_one():
    assert exit_status([task(rung("PASS", "PASS"), rung("CRASH", "CRASH"))]) == 0


def test_a_borrowed_direction_is_shown_with_its_lender():
    found = rung("PASS", uses={"backward": f"{LADDER}/00_definition"})
    assert [cell.plain for cell in _cells(found)] == ["PASS", "uses 00"]


# ---- results of several runs ---------------------------------------------------------


@pytest.fixture
def own_results(tmp_path, monkeypatch):
    """An empty folder of results; tests/ stands for the ladder's folder."""
    monkeypatch.setenv("CONVLAB_BUILD", str(tmp_path))
    results.make_folder(results.folder())


def merge(*results_of_a_run: TaskResult, seed: int = 1) -> dict:
    merged = results.merged(list(results_of_a_run), seed)
    results.write(merged)
    return merged


def as_run(all_rungs: TaskResult, *looked_at: RungResult) -> TaskResult:
    """A run that looked at some of the rungs only."""
    return TaskResult(all_rungs.task, looked_at)


def test_rungs_not_looked_at_keep_their_results(own_results):
    first = rung("PASS", "PASS", name="conftest.py")
    second = rung("CRASH", "CRASH", name="trust.py")
    merge(task(first, second))
    again = rung("WRONG_VALUE", "CRASH", name="trust.py")
    (entry,) = merge(as_run(task(first, second), again))["tasks"]
    shown = {r["id"][-8:]: r["checks"][0]["verdict"] for r in entry["rungs"]}
    assert shown == {"conftest": "PASS", "ul/trust": "WRONG_VALUE"}
    assert entry["points"] == 4


def test_a_partial_run_shows_what_the_task_has_earned_and_what_this_run_did(
    own_results, capsys, monkeypatch
):
    monkeypatch.setattr(terminal, "console", Console(highlight=False, width=80))
    first = rung("PASS", "PASS", name="conftest.py")
    second = rung("PASS", "CRASH", name="trust.py")
    whole = task(first, second)
    whole = replace(whole, task=replace(whole.task, core=True))
    assert shown_after(whole, capsys) == ("4 / 4", "4 of 4 points")
    partial = as_run(whole, second)
    assert shown_after(partial, capsys) == (
        "4 / 4",
        "this run 2; with earlier results 4 of 4 points",
    )


def shown_after(run: TaskResult, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """The points in the table's row of the task, and the summary's first line."""
    entries = merge(run)["tasks"]
    standing = {entry["id"]: (entry["points"], entry["pending"]) for entry in entries}
    terminal.table([run], standing)
    terminal.summary([run], standing, seed=1, seconds=1.0, where="here")
    lines = capsys.readouterr().out.splitlines()
    (row,) = [line for line in lines if line.startswith(LADDER)]
    return row.removeprefix(LADDER).strip(), lines[-2]


def test_a_rung_that_was_changed_since_does_not_keep_its_result(own_results, tmp_path):
    first = rung("PASS", "PASS", name="conftest.py")
    second = rung("CRASH", "CRASH", name="trust.py")
    found = merge(task(first, second))
    found["tasks"][0]["rungs"][0]["sha256"] = "0" * 64
    results.write(found)
    (entry,) = merge(as_run(task(first, second), second))["tasks"]
    assert len(entry["rungs"]) == 1
    assert entry["points"] == 0


def test_a_rung_that_needs_a_gpu_makes_no_points_pending_in_a_later_run(own_results):
    found = rung("PENDING_GPU", "PENDING_GPU", name="trust.py")
    card = replace(found, rung=replace(found.rung, needs="gpu"))
    wrong = rung("CRASH", "PASS", name="conftest.py")
    both = task(wrong, card)
    merge(both)
    (entry,) = merge(as_run(both, card))["tasks"]
    assert (entry["points"], entry["pending"]) == (2, 0)
    (shown,) = page(results.read(), HERE.parent).tasks
    assert (shown.outcome.word, shown.pending) == ("CRASH", 0)


# ---- speed in several runs -----------------------------------------------------------

BAND = Band("m96", 0.1, 0.4)
TIMED = Task("02_naive_c", "matmul", "c", 4.0, speed=SpeedTask(2.0, {"forward": BAND}))


def timed(name: str, verdict: str, share: float | None) -> RungResult:
    """A rung whose forward has this verdict and this share of the rate."""
    found = rung(verdict, name=name)
    if share is None:
        return found
    estimate = Estimate(share, share, share)
    made = Speed(
        "m96", "forward", Verdict.PASS, "pytorch/MKL", share=estimate, band=BAND
    )
    return replace(found, speeds=(made,))


def graded(*found: RungResult, of: tuple[RungResult, ...] = ()) -> dict:
    """Points of a task after this run; `of` are all rungs that exist."""
    known = replace(TIMED, rungs=tuple(r.rung for r in of or found))
    return merge(TaskResult(known, found, ("forward",)))["tasks"][0]


def test_the_speed_of_a_file_that_is_wrong_now_is_forgotten(own_results):
    fast, slow = timed("conftest.py", "PASS", 0.4), timed("trust.py", "PASS", None)
    assert graded(fast, slow)["points"] == 1 + 2
    wrong = timed("conftest.py", "WRONG_VALUE", None)
    assert graded(wrong, timed("trust.py", "PASS", 0.01))["points"] == 1
    assert graded(wrong, of=(fast, slow))["points"] == 1


def test_a_new_time_replaces_the_old_ones_of_its_ladder(own_results):
    lucky, other = timed("conftest.py", "PASS", 0.4), timed("trust.py", "PASS", 0.2)
    both = (lucky, other)
    assert graded(lucky, of=both)["points"] == 3
    assert graded(other, of=both)["points"] == 2


def test_a_run_without_times_keeps_those_of_unchanged_files(own_results):
    fast = timed("conftest.py", "PASS", 0.4)
    assert graded(fast)["points"] == 3
    assert graded(timed("conftest.py", "PASS", None))["points"] == 3


def test_an_old_time_counts_by_the_band_of_today(own_results, monkeypatch):
    fast = timed("conftest.py", "PASS", 0.4)
    assert graded(fast)["points"] == 3
    harder = {"forward": Band("m96", 0.1, 1.6)}
    known = replace(TIMED, rungs=(fast.rung,), speed=SpeedTask(2.0, harder))
    again = TaskResult(known, (timed("conftest.py", "PASS", None),), ("forward",))
    assert merge(again)["tasks"][0]["points"] == 2


def test_a_whole_run_replaces_all_rungs_of_its_task(own_results):
    merge(task(rung("PASS", "PASS")))
    (entry,) = merge(task(rung("CRASH", "PASS")))["tasks"]
    assert entry["points"] == 2


def test_results_that_cannot_be_written_leave_the_old_ones_whole(
    own_results, monkeypatch
):
    merge(task(rung("PASS", "PASS")))
    before = results.path().read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(results.os, "fsync", full)
    with pytest.raises(results.GraderError, match="the disk is full"):
        merge(task(rung("CRASH", "CRASH")))
    assert results.path().read_bytes() == before
    assert [p.name for p in results.folder().iterdir()] == ["results.json"]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"schema": 2}', '{"schema": 1}']
)
def test_a_result_file_of_another_kind_counts_as_none(own_results, text):
    results.path().write_text(text)
    assert results.read() is None


def test_a_result_file_that_cannot_be_read_is_kept_under_another_name(own_results):
    assert results.set_aside() == ""  # there is none
    merge(task(rung("PASS", "PASS")))
    assert results.set_aside() == ""
    for number in (1, 2):
        results.path().write_text('{"schema": 2}')
        said = results.set_aside()
        assert "(schema is 2, expected 1); it is kept as" in said
        assert f"unreadable-{number}.json" in said
        kept = results.path().with_name(f"results.unreadable-{number}.json")
        assert kept.read_text() == '{"schema": 2}'
        assert not results.path().exists()


def test_old_ids_of_tasks_and_rungs_are_read_as_new_ones(own_results, monkeypatch):
    monkeypatch.setitem(renamed.RENAMED, "02_naive_c/product", LADDER)
    found = merge(task(rung("PASS", "PASS", uses={"gemm": f"{LADDER}/00_naive"})))
    results.path().write_text(json.dumps(found).replace(LADDER, "02_naive_c/product"))
    assert results.read() == found
    assert select("02_naive_c/product/00") == select(f"{LADDER}/00")
    with pytest.raises(GraderError, match="no task or rung is called"):
        select("02_naive_c/products")


@pytest.mark.parametrize("old", renamed.RENAMED)
def test_every_old_id_leads_to_a_task_or_rung_of_today(old):
    assert select(old).rungs


# ---- the cell of a task in the report's matrix ---------------------------------------


@pytest.mark.parametrize(
    ("rungs", "shown"),
    [
        ([("CRASH", "CRASH"), ("NOT_IMPLEMENTED", "NOT_IMPLEMENTED")], "CRASH"),
        ([("NOT_IMPLEMENTED", "WRONG_GRADIENT")], "WRONG_GRADIENT"),
        ([("NOISY", "CRASH")], "CRASH"),
        ([("CRASH", "CRASH"), ("PASS", "NOT_IMPLEMENTED")], "CRASH"),
        ([("CRASH", "NOT_IMPLEMENTED"), ("PASS", "PASS")], "PASS"),
        ([("PASS", "NOISY")], "NOISY"),
    ],
)
def test_an_error_wins_over_what_is_not_written(own_results, rungs, shown):
    names = ("conftest.py", "trust.py")
    merge(task(*(rung(*both, name=name) for both, name in zip(rungs, names))))
    (cell,) = page(results.read(), HERE.parent).tasks
    assert cell.outcome.word == shown


# ---- reservations --------------------------------------------------------------------


def test_a_reason_that_several_share_is_told_once():
    def looked(name: str, direction: str, why: str) -> CheckResult:
        said = f"looked at 1 of 2 cases: {why}"
        return CheckResult(name, direction, Verdict.PASS, message=said)

    late = "there was no time for more"
    checks = looked("memory", "forward", late), looked("memory", "backward", late)
    other = looked("races", "backward", late), looked("races", "forward", "it hung")
    mine = replace(rung("PASS", "PASS"), checks=(*checks, *other))
    name = mine.rung.id
    assert reservations.lines([task(mine)]) == [
        "there was no time for more",
        f"  {name} forward, backward: memory looked at 1 of 2 cases",
        f"  {name} backward: races looked at 1 of 2 cases",
        f"{name} forward: races looked at 1 of 2 cases: it hung",
    ]
