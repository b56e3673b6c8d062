# SPDX-License-Identifier: MIT
"""Jobs over processes: order, groups, cores, and what a lost process costs."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from grader.engine import schedule
from grader.engine.schedule import Job, Schedule
from grader.errors import GraderError
from grader.runner.supervisor import cores


def serve(method: str, given: tuple[Any, ...]) -> Any:
    """What the jobs of these tests can ask for."""
    if method == "core":
        return os.getpid(), os.sched_getaffinity(0)
    if method == "echo":
        return given
    if method == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if method == "stumble":
        raise TypeError("ours")
    if method == "refuse":
        raise GraderError("the disk is full")
    if method == "span":
        start = time.monotonic()
        time.sleep(0.05)
        return start, time.monotonic()
    if method == "tell":
        schedule.said("rung", "words")
    return None


def settle(core: int) -> None:
    os.sched_setaffinity(0, {core})


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., list[Any]]]:
    """Runs jobs and returns their answers in the order in which they came."""
    made: list[Schedule] = []
    monkeypatch.setattr(cores, "given", lambda: sorted(os.sched_getaffinity(0)))

    def run(*jobs: tuple[Any, ...], slots: int = 2, group: str = "") -> list[Any]:
        said: list[Any] = []
        one = Schedule(slots, serve, settle, lambda *words: said.append(words))
        made.append(one)
        for method, weight in jobs:
            lost = said.append
            job = Job(
                method, method, lambda: (), said.append, lost, weight, group=group
            )
            one.add(job)
        one.run()
        return said

    yield run
    for one in made:
        one.close()


def test_one_slot_runs_everything_in_this_process(run: Callable[..., Any]) -> None:
    ((pid, _),) = run(("core", 0), slots=1)
    assert pid == os.getpid()


def test_the_heaviest_job_comes_first(run: Callable[..., Any]) -> None:
    one = Schedule(1, serve, settle, lambda *_: None)
    order: list[str] = []
    for name, weight in ("light", 1.0), ("heavy", 3.0), ("between", 2.0):
        job = Job(
            name, "echo", lambda n=name: (n,), lambda a: order.append(a[0]), print
        )
        one.add(Job(**{**job.__dict__, "weight": weight}))
    one.run()
    assert order == ["heavy", "between", "light"]


def test_processes_have_a_core_each_and_stay_in_the_given_set(
    run: Callable[..., Any],
) -> None:
    mine = os.sched_getaffinity(0)
    found = run(("core", 0), ("core", 0))
    assert all(len(cores) == 1 and cores <= mine for _, cores in found)
    assert os.getpid() not in {pid for pid, _ in found}


def test_of_a_group_no_two_run_at_the_same_time(run: Callable[..., Any]) -> None:
    spans = sorted(run(*[("span", 0)] * 4, group="package"))
    ends = [end for _, end in spans]
    assert all(start >= end for (start, _), end in zip(spans[1:], ends))


def test_a_process_that_dies_costs_its_job_alone(run: Callable[..., Any]) -> None:
    found = run(("die", 2), ("echo", 1), ("echo", 0))
    lost = [words for words in found if isinstance(words, str)]
    assert len(found) == 3 and len(lost) == 1
    assert "ended with exit code -9" in lost[0] and "JOBS=" in lost[0]


def test_a_mistake_of_our_own_is_told_with_its_place(run: Callable[..., Any]) -> None:
    (said,) = run(("stumble", 0))
    assert "TypeError: ours, at test_schedule.py:" in said


def test_a_fault_of_the_machine_ends_the_run(run: Callable[..., Any]) -> None:
    with pytest.raises(GraderError, match="disk is full"):
        run(("refuse", 0))


def test_what_a_job_says_arrives_before_its_answer(run: Callable[..., Any]) -> None:
    assert run(("tell", 0)) == [("rung", "words"), None]


def test_no_process_is_left_when_it_is_closed() -> None:
    one = Schedule(2, serve, settle, lambda *_: None)
    pids: list[int] = []
    for _ in range(2):
        job = Job("x", "core", lambda: (), lambda a: pids.append(a[0]), print)
        one.add(job)
    one.run()
    one.close()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_there_are_as_many_slots_as_cores_and_memory_allow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cores, "given", lambda: list(range(8)))
    monkeypatch.setattr(schedule, "_free_gib", lambda: 8.0)
    assert schedule.slots() == 3
    monkeypatch.setattr(schedule, "_free_gib", lambda: 1.0)
    assert schedule.slots() == 1
