# SPDX-License-Identifier: MIT
"""Whatever takes time is announced first: the progress bar names what runs."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from grader import operators
from grader.checks.check_names import CHECKS, named
from grader.checks.check_result import CheckResult
from grader.checks.gates import contract
from grader.checks.gates.contract import GATES, Contract
from grader.course.rungs import Rung
from grader.course.tasks import all_tasks, select
from grader.engine import grading_step, plan
from grader.engine.checking.inspect_cuda import DeviceInspection
from grader.engine.checking.rung_checker import Checker
from grader.engine.grade import Grader
from grader.engine.grading_step import GradingStep
from grader.engine.score import TaskResult
from grader.runner.supervisor.tools_session import Answer, Tools
from grader.verdicts import Verdict
from tests.conftest import raising

RUNGS = {rung.id: rung for task in all_tasks() for rung in task.rungs}
KERNEL = RUNGS["04_cuda_kernels/layer_norm/00_thread_per_row"]


@pytest.mark.parametrize("name", ["01_python_function/add", "02_naive_c/gelu"])
def test_every_check_of_a_right_file_is_announced(tools: Path, name: str) -> None:
    steps: list[GradingStep] = []
    with Grader(select(name), seed=3, progress=steps.append) as grader:
        (task,) = grader.run()
    said = {step.check for step in steps}
    for check in task.rungs[0].checks:
        if check.name in ("forward", "gradient"):  # announced with its dtype
            assert any(words.startswith(f"{check.name} in ") for words in said)
        else:
            assert named(check.name, check.direction) in said
    assert "build" in said or name.startswith("01")


@pytest.mark.parametrize("name", ["01_python_function/add", "02_naive_c/gelu"])
def test_the_bar_moves_by_checks_and_is_full_at_the_end(tools: Path, name: str) -> None:
    steps: list[GradingStep] = []
    with Grader(select(name), seed=3, progress=steps.append) as grader:
        (task,) = grader.run()
    counts = [step.checks for step in steps if step.ended is None]
    assert counts == sorted(counts) and len(set(counts)) > 5
    last = next(step for step in steps if step.ended)
    assert (
        last.checks
        == last.all_checks
        == sum(map(grading_step.count_checks, rungs_of(task)))
    )
    assert max(counts) >= last.all_checks - 2  # a right file has all of its checks


def rungs_of(task: TaskResult) -> list[Rung]:
    return [result.rung for result in task.rungs]


def test_the_bar_counts_the_gates_of_lab_05() -> None:
    assert Counter(gate.direction for gate in GATES) == grading_step.GATES


def test_a_rung_that_ends_early_counts_in_full() -> None:
    begun = grading_step.ChecksBegun([KERNEL])
    begun.begin("another", "build")
    for _ in range(2):  # the words are shown again when another job has ended
        begun.begin(KERNEL.id, "build")
    assert begun.count == 1 and begun.total > 10
    begun.end(KERNEL.id)
    assert begun.count == begun.total


def test_each_check_under_cusim_is_announced_before_it_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    events: list[str] = []
    words: Any = None, KERNEL, 1, events.append
    look = DeviceInspection(*words, build=lambda **_: None)

    def ran(name: str, direction: str, *_: object) -> CheckResult:
        events.append(f"ran {name}")
        return CheckResult(name, direction, Verdict.PASS)

    monkeypatch.setattr(look, "_guarded", ran)
    passed = CheckResult("forward", "forward", Verdict.PASS)
    look([passed], "forward", [])
    asked = [q for q in plan.questions(KERNEL, "forward")]
    names = [q.name for q in asked if q.name in plan.UNDER_CUSIM]
    assert len(names) > 2
    expected: list[str] = []
    for name in names:
        expected += [named(name, "forward"), f"ran {name}"]
    assert events == expected


def test_the_search_for_a_cause_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    words: Any = None, KERNEL, 1, events.append
    look = DeviceInspection(*words, build=lambda **_: None)
    wrong = CheckResult("forward", "forward", Verdict.WRONG_VALUE)
    monkeypatch.setattr(look, "_explained", lambda result, cases: result)
    look([wrong], "forward", [])
    assert events == ["the cause of the failure, forward"]


def test_nvcc_and_builds_are_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    with Checker(
        select(KERNEL.id), seed=1, announce=lambda _, words: events.append(words)
    ) as checker:
        stopped = raising(KeyboardInterrupt())
        for owner, name in (
            (checker.builds, "real"),
            (checker.builds, "whole"),
            (checker.packages, "build"),
        ):
            monkeypatch.setattr(owner, name, stopped)
        steps: list[tuple[Callable[..., object], Any]] = [
            (checker._by_nvcc, KERNEL),
            (checker._numbers, KERNEL),
            (checker.package, "05_torch_extension/gelu/stable"),
        ]
        for step, about in steps:
            with pytest.raises(KeyboardInterrupt):
                step(about)
    assert events == [CHECKS["nvcc"], "build", "build"]


def test_each_gate_is_announced_when_it_begins(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    going_on = threading.Event()

    def run(self: Tools, names: list[str], write: object) -> dict[str, Answer]:
        for name in ("import", *names):
            self._began(name)
        assert going_on.wait(60)
        return {}

    monkeypatch.setattr(Tools, "run", run)
    gates = [g for g in GATES if g.id in ("vmap", "export", "torch_func")]
    made = Contract(operators.get("add"), tmp_path, tmp_path, 1, gates=gates)
    made.start()
    try:
        steps = made.steps()
        said = [next(steps) for _ in range(len(gates) + 1)]
        going_on.set()
        assert list(steps) == []
    finally:
        made.stop()
    assert said == [contract.LOADING, *(named(g.name, g.direction) for g in gates)]


def test_a_rung_has_a_name_for_each_of_its_checks() -> None:
    kinds = {plan.kind(rung): rung for rung in RUNGS.values()}
    assert len(kinds) == 5
    for rung in kinds.values():
        for direction in ("forward", "backward"):
            for question in plan.questions(rung, direction):
                if question.name not in (plan.NUMBERS, plan.GATES, "views"):
                    assert (question.asks or question.name) in CHECKS
    assert {gate.name for gate in contract.GATES} <= set(CHECKS)
