# SPDX-License-Identifier: MIT
"""The grader beside a card: test_stand_in.py runs this file beside its stand-in."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

from grader import operators
from grader.checks.cuda import compute_sanitizer
from grader.checks.speed import gpu_speed
from grader.course.tasks import select
from grader.engine.asking import on_gpu
from grader.engine.asking.asker import Asker
from grader.runner.supervisor.call import Run
from grader.toolchain import gpu_probe
from grader.toolchain.linking import Links
from grader.toolchain.products import GPU
from grader.verdicts import Verdict
from tests.grader.checks.cuda.test_gpu import rung_called
from tests.grader.engine.test_on_gpu import passed


@pytest.fixture(scope="session", autouse=True)
def own_place() -> Path:
    """The build folder is given: what takes long lies in it."""
    os.environ["SPEED"] = "off"
    return Path(os.environ["CONVLAB_BUILD"])


@pytest.fixture
def card(tools):
    """The rungs of a run, on the card."""
    links = Links()
    links.verify = lambda rung, direction: True
    return on_gpu.OnCard(1, lambda *_: None, links)


@pytest.fixture
def asker(tools):
    """Who grades a rung, all of it."""
    made = Asker(select("04_cuda_kernels/matmul"), seed=1)
    made.links.verify = lambda rung, direction: True
    yield made
    made.close()


def test_the_probe_finds_it():
    card = gpu_probe.card()
    assert card, gpu_probe.absent()
    assert card.architecture == "sm_80"
    assert compute_sanitizer.why_not() == ""


# ---- values --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["add/00_strided", "matmul/06_warp_tile", "layer_norm/01_warp_per_row"]
)
def test_a_right_rung_is_right_on_it(card, name):
    made = card.checked(passed(name), {}, None)
    told = {(c.name, c.verdict, c.message) for c in made.checks if c.name[:3] == "gpu"}
    assert {verdict for _, verdict, _ in told} == {Verdict.PASS}, told
    names = {name for name, *_ in told}
    assert {"gpu forward", "gpu memory", "gpu races"} <= names


def test_a_rung_in_tf32_that_cusim_cannot_run_is_judged_in_its_class(asker):
    """matmul/09 as if only a card could run it."""
    rung = dataclasses.replace(rung_called("matmul/09_tf32"), needs="gpu")
    made = asker._only_on_card(rung)
    told = [(c.name, c.verdict, c.message) for c in made.checks]
    assert made.verdict("forward") is Verdict.PASS, told


# ---- the stopwatch -------------------------------------------------------------------


def test_a_row_of_calls_has_an_event_around_each(card):
    rung = rung_called("matmul/06_warp_tile")
    subject = card.subject(rung, card.links.build(rung, mode=GPU), {})
    case = operators.get("matmul").speed_cases()["m96"]
    data = gpu_speed.baseline.Data(subject.operator, case, 1, 1)
    student = gpu_speed.OnCard(subject, case, "forward", data)
    student.prepare()
    assert student._plain & Run.TIMED
    claimed, wall = student.repeated(5)
    assert subject.worker("f32").reply.device_calls == 5
    assert 0 < claimed < wall
    subject.close()
