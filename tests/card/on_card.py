# SPDX-License-Identifier: MIT
"""The grader beside a card: test_stand_in.py runs this file beside its stand-in."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from grader import operators
from grader.bench import gpu_ladders
from grader.bench.ladders import Wanted
from grader.checks.cuda import compute_sanitizer, values_on_gpu
from grader.checks.speed import gpu_speed
from grader.course.tasks import select
from grader.engine.checking import on_gpu
from grader.engine.checking.rung_checker import Checker
from grader.engine.checking.runnable import of_build
from grader.engine.score import RungResult
from grader.runner.supervisor.call import Run
from grader.toolchain import gpu_probe, sandbox
from grader.toolchain.products import GPU
from grader.verdicts import Verdict
from tests import put
from tests.card.host_clock import HostClock
from tests.grader.checks.cuda.test_gpu import rung_called
from tests.grader.engine.test_on_gpu import passed
from tests.proofs.reference import reference_links

LEVELS = {"bwrap": sandbox.has_bwrap, "landlock": sandbox.has_landlock}
MATMUL = "04_cuda_kernels/matmul"
TF32 = "matmul/09_tf32"


@pytest.fixture(scope="session", autouse=True)
def own_place() -> Path:
    """The build folder is given: what takes long lies in it."""
    os.environ["SPEED"] = "off"
    return Path(os.environ["CONVLAB_BUILD"])


@pytest.fixture
def card(tools) -> on_gpu.OnCard:
    """The rungs of a run, on the card."""
    gpu_probe.build_tools()
    return on_gpu.OnCard(1, lambda *_: None, reference_links())


@pytest.fixture
def checker(tools, monkeypatch) -> Iterator[Checker]:
    """Who grades a rung, all of it."""
    made = Checker(select(MATMUL), seed=1)
    monkeypatch.setattr(made, "is_right", lambda *_: True)
    yield made
    made.close()


def check_rows(made: RungResult) -> set[tuple[str, Verdict, str]]:
    """What the card has added."""
    mine = [check for check in made.checks if check.name.startswith("gpu ")]
    return {(check.name, check.verdict, check.message) for check in mine}


def test_the_probe_finds_it():
    found = gpu_probe.card()
    assert found, gpu_probe.absent()
    assert found.architecture == "sm_80"


# ---- values --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["add/00_strided", "matmul/06_warp_tile", "layer_norm/01_warp_per_row"]
)
def test_a_right_rung_is_right_on_it_in_half_too_and_under_the_tools(card, name):
    found = check_rows(card.checked(passed(name)))
    assert {(verdict, words) for _, verdict, words in found} == {(Verdict.PASS, "")}
    names = {name for name, *_ in found}
    assert {"gpu forward", "gpu half", "gpu memory", "gpu races"} <= names


def test_a_rung_that_only_a_card_runs_is_judged_in_its_class(checker, monkeypatch):
    monkeypatch.setenv(compute_sanitizer.ENVIRONMENT, "off")
    rung = dataclasses.replace(rung_called(TF32), needs="gpu")
    made = checker._only_on_card(rung)
    assert made.verdict("forward") is Verdict.PASS, check_rows(made)
    assert made.verdict("backward") is None  # which it does not have


def test_and_its_backward_too(checker, monkeypatch):
    monkeypatch.setenv(compute_sanitizer.ENVIRONMENT, "off")
    rung = dataclasses.replace(rung_called("layer_norm/01_warp_per_row"), needs="gpu")
    made = checker._only_on_card(rung)
    assert made.verdict("forward") is made.verdict("backward") is Verdict.PASS


@pytest.mark.parametrize("level", ["none", *(n for n, has in LEVELS.items() if has())])
def test_the_driver_gets_what_it_opens_at_every_level_of_the_sandbox(
    card, monkeypatch, level
):
    monkeypatch.setattr(sandbox, "level", lambda: level)
    rung = rung_called("add/00_strided")
    subject = of_build(rung, card.links.build(rung, mode=GPU))
    cases = subject.operator.cases(1)[:3]
    found = values_on_gpu.check(subject, cases, "forward", 1)
    subject.close()
    assert {(f.verdict, f.message) for f in found} == {(Verdict.PASS, "")}


# ---- a card that lacks what a rung is for --------------------------------------------


@pytest.fixture
def an_older_card(monkeypatch):
    """One before sm_80: it has no copies that a thread only begins."""
    found = gpu_probe.card()
    older = dataclasses.replace(found, name="Tesla T4", architecture="sm_75")
    monkeypatch.setattr(gpu_probe, "card", lambda: older)


def test_what_an_older_card_lacks_waits_for_another(card, an_older_card):
    made = card.checked(passed("matmul/07_double_buffer"))
    ((name, verdict, words),) = check_rows(made)
    assert (name, verdict) == ("gpu build", Verdict.PENDING_GPU)
    assert "Tesla T4, is sm_75, but the file is for sm_80" in words


def test_on_an_older_card_a_lower_rung_serves(card, an_older_card):
    built = card.links.build(rung_called("matmul/08_transposes"), mode=GPU)
    assert built.uses == {"product": f"{MATMUL}/06_warp_tile"}, built


# ---- compute-sanitizer ---------------------------------------------------------------


def test_a_sanitizer_that_does_not_start_costs_nothing_and_is_told(
    card, monkeypatch, tmp_path
):
    words = "Error: the driver is too old"
    tool = put(tmp_path / "bin" / "compute-sanitizer", f"#!/bin/sh\necho '{words}'\n")
    tool.chmod(0o755)
    monkeypatch.setattr(compute_sanitizer, "find", lambda: str(tool))
    compute_sanitizer.not_started.cache_clear()
    made = card.checked(passed("add/00_strided"))
    compute_sanitizer.not_started.cache_clear()
    assert made.verdict("forward") is Verdict.PASS
    said = {message for name, _, message in check_rows(made) if name == "gpu races"}
    assert said == {
        f"this check was not run: compute-sanitizer does not start here: {words}"
    }


def test_a_sanitizer_can_be_switched_off(card, monkeypatch):
    monkeypatch.setenv(compute_sanitizer.ENVIRONMENT, "off")
    names = {name for name, *_ in check_rows(card.checked(passed("add/00_strided")))}
    assert names == {"gpu forward", "gpu gradient", "gpu half"}


# ---- the stopwatch -------------------------------------------------------------------


class Precisions(HostClock):
    """A clock that notes in which precision PyTorch was timed."""

    def __init__(self) -> None:
        self.tf32: list[bool] = []

    def time(self, work) -> float:
        """Seconds."""
        self.tf32.append(torch.backends.cuda.matmul.allow_tf32)
        return super().time(work)


@pytest.fixture
def clock(monkeypatch) -> Precisions:
    """PyTorch has no card here: the processor is its clock, and nothing is timed for
    long.
    """
    made = Precisions()
    monkeypatch.setattr(on_gpu.OnCard, "clock", lambda _: made)
    monkeypatch.setattr(gpu_speed, "audit", lambda *_: "")
    monkeypatch.setattr(gpu_speed, "BUDGET", 0.2)
    return made


def test_a_row_of_calls_has_an_event_around_each(card):
    rung = rung_called("matmul/06_warp_tile")
    subject = of_build(rung, card.links.build(rung, mode=GPU))
    case = operators.get("matmul").speed_cases()["m96"]
    data = gpu_speed.baseline.Data(subject.operator, case, 1, 1)
    student = gpu_speed.OnCard(subject, case, "forward", data)
    student.prepare()
    assert student._plain & Run.TIMED
    claimed, wall = student.repeated(5)
    assert subject.worker("f32").reply.device_calls == 5
    assert 0 < claimed < wall
    subject.close()


@pytest.mark.parametrize(
    ("name", "pinned"), [(TF32, "on"), ("matmul/06_warp_tile", "off")]
)
def test_make_bench_times_a_rung_in_its_class_against_pytorch_in_the_same(
    tools, clock, monkeypatch, name, pinned
):
    monkeypatch.setattr(gpu_probe, "measured", gpu_probe.card)
    selection = select(f"04_cuda_kernels/{name}")
    task = dataclasses.replace(selection.tasks[0], rungs=(rung_called(name),))
    wanted = Wanted("04", "T=matmul", 1, cases=("m96",))
    run = gpu_ladders.Bench(selection, wanted)
    (row,) = run.times(task, lambda *_: False)
    assert row.speed.verdict in (Verdict.PASS, Verdict.NOISY), row.speed.message
    assert row.speed.baseline == f"pytorch/cuBLAS tf32={pinned}"
    assert set(clock.tf32) == {True, False}  # a column shows the other one


def test_a_grading_times_a_rung_in_tf32_against_pytorch_in_tf32(
    card, clock, monkeypatch
):
    monkeypatch.setattr(gpu_probe, "measured", gpu_probe.card)
    case = operators.get("matmul").speed_cases()["m96"]
    monkeypatch.setattr(on_gpu, "timed_case", lambda *_: case)
    (task,) = select(MATMUL).tasks
    before = passed(TF32)
    forward = tuple(c for c in before.checks if c.direction == "forward")
    (after,) = card.timed(task, [dataclasses.replace(before, checks=forward)])
    (found,) = after.speeds
    assert found.verdict in (Verdict.PASS, Verdict.NOISY), found.message
    assert found.baseline == "pytorch/cuBLAS tf32=on"
    assert True in clock.tf32
