# SPDX-License-Identifier: MIT
"""Verdicts become points: halves, the best rung, pending, and the exit status."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from grader.checks.check_result import CheckResult
from grader.checks.speed.estimate import Estimate, Speed
from grader.course import renamed
from grader.course.bands import Band, SpeedTask
from grader.course.rungs import Rung, Task
from grader.course.tasks import select
from grader.engine import merge as merging
from grader.engine import results
from grader.engine.score import Results, RungResult, TaskResult, exit_status
from grader.errors import GraderError
from grader.report import not_checked, terminal
from grader.report.page import task_outcome
from grader.verdicts import Verdict
from tests.conftest import raising

HERE = Path(__file__)
LADDER = "02_naive_c/matmul"


def rung(
    forward: str = "", backward: str = "", *, name: str = "", uses: dict | None = None
) -> RungResult:
    """A rung with a verdict for each direction, "" for none."""
    checks = [
        CheckResult("forward", direction, Verdict(verdict))
        for direction, verdict in (("forward", forward), ("backward", backward))
        if verdict
    ]
    file = HERE.with_name(name) if name else HERE
    return RungResult(Rung(LADDER, file), tuple(checks), uses or {})


def task(*rungs: RungResult, points: float = 4.0) -> TaskResult:
    ladder = Task(
        "02_naive_c", "matmul", "c", points, rungs=tuple(r.rung for r in rungs)
    )
    return TaskResult(ladder, rungs)


@pytest.mark.parametrize(
    ("rungs", "points", "pending"),
    [
        pytest.param([("PASS", "PASS")], 4, 0, id="each_direction_is_worth_half"),
        pytest.param([("PASS", "WRONG_GRADIENT")], 2, 0, id="forward_alone"),
        pytest.param([("CRASH", "PASS")], 2, 0, id="backward_alone"),
        pytest.param([("PASS", "")], 2, 0, id="only_forward_is_there"),
        pytest.param([("NOT_IMPLEMENTED",) * 2], 0, 0, id="nothing_is_written"),
        pytest.param([("", "")], 0, 0, id="nothing_is_there"),
        pytest.param([], 0, 0, id="no_files"),
        pytest.param([("PASS", "PASS")] * 2, 4, 0, id="a_direction_counts_once"),
        pytest.param([("PASS", "CRASH"), ("", "PASS")], 4, 0, id="from_two_rungs"),
        pytest.param([("PASS",) * 2, ("BUILD",) * 2], 4, 0, id="a_wrong_one_is_free"),
        pytest.param(
            [("GRADER",) * 2, ("PASS", "CRASH")], 2, 2, id="passing_before_pending"
        ),
        *(
            pytest.param([("PASS", verdict)], 2, 2, id=f"{verdict}_is_pending")
            for verdict in Verdict
            if verdict.pending
        ),
        *(
            pytest.param([(verdict, verdict)], 0, 0, id=f"{verdict}_earns_nothing")
            for verdict in Verdict
            if not verdict.ok
        ),
    ],
)
def test_verdicts_become_points(rungs, points, pending):
    found = task(*(rung(*verdicts) for verdicts in rungs))
    assert (found.points, found.pending) == (points, pending)
    assert rungs or found.best("forward") is None


def test_a_rung_that_needs_a_gpu_counts_only_if_there_is_no_other():
    pending = rung("PENDING_GPU", "PENDING_GPU")
    card = replace(pending, rung=replace(pending.rung, needs="gpu"))
    wrong = task(rung("WRONG_VALUE", "PASS"), card)
    assert (wrong.points, wrong.pending, wrong.ok) == (2, 0, False)
    assert (task(card).points, task(card).pending, task(card).ok) == (0, 4, True)


def test_a_direction_passes_only_if_all_its_checks_do():
    checks = [
        CheckResult("forward", "forward", Verdict.PASS),
        CheckResult("module", "forward", Verdict.WRONG_VALUE),
    ]
    found = RungResult(Rung(LADDER, HERE), tuple(checks))
    assert found.verdict("forward") is Verdict.WRONG_VALUE
    assert task(found).points == 0


@pytest.mark.parametrize(
    ("rungs", "status"),
    [
        pytest.param([("PASS", "NOISY")], 0, id="pending"),
        pytest.param([("PASS", "PASS"), ("CRASH", "CRASH")], 0, id="beside_one"),
        *(([("PASS", v)], 1) for v in Verdict if not v.ok),
        pytest.param([("PASS", "GRADER"), ("PASS", "PASS")], 3, id="our_fault"),
        pytest.param([("CRASH", "GRADER")], 3, id="our_fault_before_theirs"),
    ],
)
def test_the_exit_status_is_1_if_something_is_to_be_mended_3_if_by_us(rungs, status):
    found = task(*(rung(*verdicts) for verdicts in rungs))
    assert exit_status([task(rung("PASS", "PASS")), found]) == status


# ---- results of several runs ---------------------------------------------------------


@pytest.fixture
def own_results(tmp_path, monkeypatch):
    """An empty folder of results; tests/ stands for the ladder's folder."""
    monkeypatch.setenv("CONVLAB_BUILD", str(tmp_path))
    results.make_folder(results.folder())


def merge(*results_of_a_run: TaskResult, seed: int = 1) -> Results:
    merged = merging.merged(results_of_a_run, seed)
    results.write(merged)
    return merged


def written() -> dict[str, Any]:
    return json.loads(results.path().read_text())


def as_run(all_rungs: TaskResult, *looked_at: RungResult) -> TaskResult:
    """A run that looked at some of the rungs only."""
    return TaskResult(all_rungs.task, looked_at)


FIRST = rung("PASS", "PASS", name="test_race.py")
SECOND = rung("CRASH", "CRASH", name="test_grade.py")


def test_rungs_not_looked_at_keep_their_results(own_results):
    merge(task(FIRST, SECOND))
    again = rung("WRONG_VALUE", "CRASH", name="test_grade.py")
    (result,) = merge(as_run(task(FIRST, SECOND), again)).tasks
    shown = {r.rung.id[-8:]: r.checks[0].verdict for r in result.rungs}
    assert shown == {"est_race": "PASS", "st_grade": "WRONG_VALUE"}
    assert result.points == written()["tasks"][0]["points"] == 4


def test_a_partial_run_shows_what_the_task_has_earned_and_what_this_run_did(
    own_results, capsys, monkeypatch
):
    monkeypatch.setattr(terminal, "console", Console(highlight=False, width=80))
    second = rung("PASS", "CRASH", name="test_grade.py")
    whole = task(FIRST, second)
    whole = replace(whole, task=replace(whole.task, core=True))
    assert shown_after(whole, capsys) == ("4 / 4", "4 of 4 points")
    row, said = shown_after(as_run(whole, second), capsys)
    assert row == "4 / 4"
    assert said == "this run 2; with earlier results 4 of 4 points"


def shown_after(run: TaskResult, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """The points in the table's row of the task, and the summary's first line."""
    tasks = merge(run).tasks
    standing = {result.task.id: (result.points, result.pending) for result in tasks}
    terminal.table([run], standing)
    terminal.summary([run], standing, seed=1, seconds=1.0, where="here")
    lines = capsys.readouterr().out.splitlines()
    (row,) = [line for line in lines if line.startswith(LADDER)]
    return row.removeprefix(LADDER).strip(), lines[-2]


@pytest.mark.parametrize("columns", [60, 80, None])
def test_verdicts_are_whole_at_any_width(columns, capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    narrow = Console(width=columns) if columns else terminal._console()
    monkeypatch.setattr(terminal, "console", narrow)
    names = {"forward": "NOT_IMPLEMENTED", "backward": "WRONG_GRADIENT"}
    long = rung(**names, name="00_a_rung_of_quite_a_long_name.py")
    terminal.table([task(long)], {f"{LADDER}": (0, 1.5)})
    shown = capsys.readouterr().out
    for word in (*names.values(), "pending"):
        assert word in shown
    assert columns or "00_a_rung_of_quite_a_long_name.py" in shown


def test_a_rung_that_was_changed_since_does_not_keep_its_result(own_results):
    merge(task(FIRST, SECOND))
    changed = results.path().read_text().replace(FIRST.rung.sha256, "0" * 64)
    results.path().write_text(changed)
    (result,) = merge(as_run(task(FIRST, SECOND), SECOND)).tasks
    assert (len(result.rungs), result.points) == (1, 0)


def test_a_rung_that_needs_a_gpu_makes_no_points_pending_in_a_later_run(own_results):
    found = rung("PENDING_GPU", "PENDING_GPU", name="test_grade.py")
    card = replace(found, rung=replace(found.rung, needs="gpu"))
    wrong = rung("CRASH", "PASS", name="test_race.py")
    both = task(wrong, card)
    merge(both)
    (result,) = merge(as_run(both, card)).tasks
    assert (result.points, result.pending) == (2, 0)
    (shown,) = results.read().tasks
    assert (task_outcome(shown).word, shown.pending) == ("CRASH", 0)


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


def graded(*found: RungResult, of: tuple[RungResult, ...] = ()) -> float:
    """Points of a task after this run; `of` are all rungs that exist."""
    task = replace(TIMED, rungs=tuple(r.rung for r in of or found))
    return merge(TaskResult(task, found, ("forward",))).tasks[0].points


FAST = timed("test_race.py", "PASS", 0.4)  # 2 points, and 1 for being right


def test_the_speed_of_a_file_that_is_wrong_now_is_forgotten(own_results):
    assert graded(FAST, timed("test_grade.py", "PASS", None)) == 1 + 2
    wrong = timed("test_race.py", "WRONG_VALUE", None)
    slow = timed("test_grade.py", "PASS", 0.01)
    assert graded(wrong, slow) == 1
    assert graded(wrong, of=(FAST, slow)) == 1


def test_a_new_time_replaces_the_old_ones_of_its_ladder(own_results):
    other = timed("test_grade.py", "PASS", 0.2)
    assert graded(FAST, of=(FAST, other)) == 3
    assert graded(other, of=(FAST, other)) == 2


def test_a_run_without_times_keeps_those_of_unchanged_files_by_the_band_of_today(
    own_results,
):
    untimed = timed("test_race.py", "PASS", None)
    assert graded(FAST) == graded(untimed) == 3
    harder = {"forward": Band("m96", 0.1, 1.6)}
    harder_task = replace(TIMED, rungs=(FAST.rung,), speed=SpeedTask(2.0, harder))
    again = TaskResult(harder_task, (untimed,), ("forward",))
    assert merge(again).tasks[0].points == 2


def test_a_whole_run_replaces_all_rungs_of_its_task(own_results):
    merge(task(rung("PASS", "PASS")))
    (result,) = merge(task(rung("CRASH", "PASS"))).tasks
    assert result.points == 2


def test_results_that_cannot_be_written_leave_the_old_ones_whole(
    own_results, monkeypatch
):
    merge(task(rung("PASS", "PASS")))
    before = results.path().read_bytes()
    full = raising(OSError(28, "No space left on device"))
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
        kept = results.path().with_name(f"results.unreadable-{number}.json")
        said = results.set_aside()
        assert "schema is 2, expected 1" in said and kept.name in said
        assert kept.read_text() == '{"schema": 2}' and not results.path().exists()


def test_old_ids_of_tasks_and_rungs_are_read_as_new_ones(own_results, monkeypatch):
    monkeypatch.setitem(renamed.RENAMED, "02_naive_c/product", LADDER)
    merge(task(rung("PASS", "PASS", uses={"gemm": f"{LADDER}/00_naive"})))
    found, text = results.read(), results.path().read_text()
    text = text.replace(f'"{LADDER}', '"02_naive_c/product')
    results.path().write_text(text)
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
    names = ("test_race.py", "test_grade.py")
    merge(task(*(rung(*both, name=name) for both, name in zip(rungs, names))))
    (cell,) = results.read().tasks
    assert task_outcome(cell).word == shown


# ---- reservations --------------------------------------------------------------------

RACES, MEMORY = "the check of races", "the check of memory accesses"
FREE = "(no points are lost by this)"


def test_a_reason_that_several_share_is_told_once():
    late, hung = "the time of this check is over", "it hung"
    looks = [
        ("memory", "forward", late),
        ("memory", "backward", late),
        ("races", "backward", late),
        ("races", "forward", hung),
    ]
    checks = [
        CheckResult(
            name, direction, Verdict.PASS, message=f"checked 1 of 2 cases: {why}"
        )
        for name, direction, why in looks
    ]
    mine = replace(rung("PASS", "PASS"), checks=tuple(checks))
    name = mine.rung.id
    assert not_checked.lines([task(mine)]) == [
        late,
        f"  {name} forward, backward: {MEMORY} checked 1 of 2 cases {FREE}",
        f"  {name} backward: {RACES} checked 1 of 2 cases {FREE}",
        f"{name} forward: {RACES} checked 1 of 2 cases {FREE}: {hung}",
    ]


def test_a_reason_of_many_files_is_told_by_task():
    why = "checked 1 of 2 cases: a higher rung is graded too"
    check = CheckResult("memory", "forward", Verdict.PASS, message=why)
    ladder = "04_cuda_kernels/matmul"
    rungs = [
        RungResult(Rung(ladder, Path(f"{number:02}_x.cu")), (check,))
        for number in range(not_checked.MOST_LINES + 1)
    ]
    assert not_checked.lines([task(*rungs)]) == [
        "a higher rung is graded too",
        f"  {ladder}, {len(rungs)} files: {MEMORY} checked 1 of 2 cases {FREE}",
    ]
