# SPDX-License-Identifier: MIT
"""Jobs over processes: order, groups, cores, and what a lost process costs."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing import Pipe
from typing import Any

import pytest

from grader import working
from grader.closing import Closing
from grader.engine import schedule
from grader.engine.schedule import Job, Schedule, _Process
from grader.errors import GraderError
from grader.runner.supervisor import cores


@dataclass(frozen=True)
class Does(Job):
    """What the jobs of these tests do, by name."""

    def run(self, worker: Any, now: Any) -> Any:
        if self.name == "core":
            return os.getpid(), os.sched_getaffinity(0)
        if self.name == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.name == "stumble":
            raise TypeError("ours")
        if self.name == "refuse":
            raise GraderError("the disk is full")
        if self.name == "span":
            start = time.monotonic()
            time.sleep(0.05)
            return start, time.monotonic()
        if self.name == "tell":
            schedule.said("rung", "words")
        if self.name == "steps":
            schedule.said("rung", "memory accesses")
            with working.on("compile gelu.c"):
                pass
        return now


NOBODY: Any = (None, None, 0)  # a process that was never started


class InGroup(Does):
    group = "package"


class Told(Closing):
    """An owner, and a worker, that remembers all that is said."""

    def __init__(self) -> None:
        self.said: list[Any] = []

    def close(self) -> None: ...

    def now(self) -> Any:
        return "now"

    def say(self, *words: str) -> None:
        self.said.append(words)

    show = say

    def came(self, job: Job, answer: Any) -> None:
        self.said.append(answer)

    def lost(self, job: Job, sentence: str) -> None:
        self.said.append(sentence)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., list[Any]]]:
    """Runs jobs and returns their answers in the order in which they came."""
    made: list[Schedule] = []
    monkeypatch.setattr(cores, "given", lambda: sorted(os.sched_getaffinity(0)))
    monkeypatch.setattr(cores, "_threads", 1)

    def run(*jobs: Job, slots: int = 2) -> list[Any]:
        events = Told()
        made.append(one := Schedule(events, events, {"die": 1}))
        for job in jobs:
            one.add(job)
        one.run(slots)
        return events.said

    yield run
    for one in made:
        one.close()


def test_one_slot_runs_everything_in_this_process(run: Callable[..., Any]) -> None:
    ((pid, _),) = run(Does("core"), slots=1)
    assert pid == os.getpid()


def test_the_heaviest_job_comes_first(run: Callable[..., Any]) -> None:
    events, order = Told(), []
    events.came = lambda job, _: order.append(job.name)
    one = Schedule(events, events, {"light": 1, "heavy": 3, "between": 2})
    for name in "light", "heavy", "between":
        one.add(Does(name))
    one.run(1)
    assert order == ["heavy", "between", "light"]


def test_processes_have_a_core_each_and_stay_in_the_given_set(
    run: Callable[..., Any],
) -> None:
    mine = os.sched_getaffinity(0)
    found = run(Does("core"), Does("core"))
    assert all(len(cores) == 1 and cores <= mine for _, cores in found)
    assert os.getpid() not in {pid for pid, _ in found}


def test_of_a_group_no_two_run_at_the_same_time(run: Callable[..., Any]) -> None:
    spans = sorted(run(*[InGroup("span")] * 4))
    ends = [end for _, end in spans]
    assert all(start >= end for (start, _), end in zip(spans[1:], ends))


def test_a_process_that_dies_costs_its_job_alone(run: Callable[..., Any]) -> None:
    found = run(Does("die"), Does("echo"), Does("echo"))
    assert len(found) == 3 and found.count("now") == 2
    (lost,) = [words for words in found if words != "now"]
    assert "ended with exit code -9" in lost and "JOBS=" in lost


def test_a_mistake_of_our_own_is_told_with_its_place(run: Callable[..., Any]) -> None:
    (said,) = run(Does("stumble"))
    assert "TypeError: ours, at test_schedule.py:" in said


def test_a_fault_of_the_machine_ends_the_run(run: Callable[..., Any]) -> None:
    with pytest.raises(GraderError, match="disk is full"):
        run(Does("refuse"))


def test_what_a_job_says_arrives_before_its_answer(run: Callable[..., Any]) -> None:
    assert run(Does("tell")) == [("rung", "words"), "now"]


def test_a_step_of_a_job_is_shown_while_it_runs(run: Callable[..., Any]) -> None:
    said = [words for _, words in run(Does("steps"))[:-1]]
    assert said == ["memory accesses", "compile gelu.c", "memory accesses"]


def test_when_a_job_ends_the_other_one_is_shown_again() -> None:
    events = Told()
    one = Schedule(events, events, {})
    ended, running = _Process(*NOBODY), _Process(*NOBODY)
    ended.job, running.job = Does("tell"), Does("echo")
    one._processes = [running, ended]
    (here, there), (_, other) = Pipe(), Pipe()
    ended.pipe, running.pipe = here, other
    running.told = "gelu", "torch.compile, forward"
    there.send(("tell", "gelu", "gradcheck"))
    there.send(("done", "answer"))
    one._listen()
    one._listen()
    assert events.said == [
        ("gelu", "gradcheck"),
        "answer",
        ("gelu", "torch.compile, forward"),
    ]


def test_no_process_is_left_when_it_is_closed() -> None:
    events = Told()
    one = Schedule(events, events, {})
    for _ in range(2):
        one.add(Does("core"))
    one.run(2)
    one.close()
    for pid, _ in events.said:
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
