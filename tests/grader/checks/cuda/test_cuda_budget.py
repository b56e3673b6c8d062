# SPDX-License-Identifier: MIT
"""What the slow checks of lab 04 look at first, and which rungs get less time."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from grader import operators
from grader.checks.cuda import under_cusim
from grader.checks.subject import Subject
from grader.course.rungs import Rung, Selection, Task
from grader.engine.plan import is_below
from tests import put

LADDER = "04_cuda_kernels/matmul"


@pytest.mark.parametrize("name", ["matmul", "conv2d", "add"])
def test_every_kind_of_case_comes_before_a_second_one_of_a_kind(name):
    operator = operators.get(name)
    cases = operator.cases(1)
    order = under_cusim.varied(operator, cases)
    assert sorted(number for number, _ in order) == list(range(len(cases)))
    assert all(cases[number] is case for number, case in order)
    sizes = [operator.elements(case) for _, case in order]
    # the first of each kind go from the smallest to the largest
    first = next(i for i in range(1, len(sizes)) if sizes[i] < sizes[i - 1])
    layouts = [tuple(sorted(case.layout.items())) for _, case in order]
    assert set(layouts[: first + 1]) == set(layouts)
    assert 8 * max(sizes[: first + 1]) > max(sizes)


def looked_at(monkeypatch, *, below, seconds, name="gelu"):
    """What a look says where a case takes these seconds on a core."""
    ran: list[int] = []
    monkeypatch.setattr(under_cusim, "run_case", lambda *_, **__: ran.append(1))
    operator = operators.get(name)
    subject = SimpleNamespace(
        python=False,
        operator=operator,
        asks=operator.asks,
        begin=lambda: None,
        warnings=(),
        cpu_seconds=lambda: seconds * len(ran),
    )
    return under_cusim.look(
        "races", subject, operator.cases(1), "forward", 1, below=below
    )


def test_what_takes_too_long_on_its_core_is_left_out_and_that_is_said(monkeypatch):
    gelu = operators.get("gelu")
    cases = gelu.cases(1)
    kinds = len({under_cusim._kind(gelu, case) for case in cases})
    every = len(cases)
    for seconds, looked in ((20.0 / kinds, kinds + 1), (40.0 / kinds, kinds)):
        found = looked_at(monkeypatch, below=False, seconds=seconds)
        said = f"checked {looked} of {every} cases: the time of this check is over"
        assert (found.verdict, found.message) == ("PASS", said)


def test_a_look_that_misses_a_kind_of_case_is_no_pass(monkeypatch):
    found = looked_at(monkeypatch, below=False, seconds=20.0)
    assert found.verdict == "SUSPECT"
    assert "checked 4 of " in found.message
    assert "not every kind of case (layout, options, size): the time" in found.message


def test_a_rung_below_another_is_looked_at_in_each_kind_of_case(monkeypatch):
    conv = operators.get("conv2d")
    cases = [case for case in conv.cases(1) if conv.asks(case, "forward")]
    kinds = len(under_cusim.varied(conv, cases, kinds=True))
    assert 1 < kinds < len(cases)
    looked = {number for number, _ in under_cusim.varied(conv, cases, kinds=True)}
    sizes = [conv.elements(case) for case in cases]
    assert looked >= {
        number for number, size in enumerate(sizes) if size <= under_cusim.SMALL
    }
    found = looked_at(monkeypatch, below=True, seconds=0.0, name="conv2d")
    assert found.message.startswith(
        f"checked {kinds} of {len(cases)} cases: a higher rung"
    )
    assert found.verdict == "PASS"


def test_a_busy_machine_sees_as_many_cases(tools):
    """A budget counts what a process had of its core, not what passed by the clock."""
    subject = Subject(operators.get("gelu"), libraries={})
    before = subject.cpu_seconds()
    time.sleep(0.2)
    assert subject.cpu_seconds() - before < 0.1
    while time.process_time() < before + 0.1:
        pass
    assert subject.cpu_seconds() - before >= 0.1


def test_a_rung_is_below_another_that_is_written_and_runs_here(tmp_path):
    written = "    return STATUS_NOT_IMPLEMENTED;\n"
    starter = written.replace("return", "// STARTER return")
    texts = {"00_a": starter, "01_b": starter, "02_c": written, "03_d": ""}
    rungs = tuple(
        Rung(
            LADDER,
            put(tmp_path / f"{name}.cu", text),
            needs="gpu" if name == "03_d" else "",
        )
        for name, text in texts.items()
    )
    task = Task("04_cuda_kernels", "matmul", "cuda", 1.0, rungs=rungs)
    chosen = Selection((task,), frozenset(rung.id for rung in rungs), whole=False)
    assert [is_below(rung, chosen) for rung in rungs] == [True, False, False, False]
    alone = Selection((task,), frozenset([rungs[0].id]), whole=False)
    assert not is_below(rungs[0], alone)
