# SPDX-License-Identifier: MIT
"""What the slow checks of lab 04 look at first, and which rungs get less time."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from grader import operators
from grader.checks.cuda import under_cusim
from grader.course.rungs import Rung, Selection, Task
from grader.engine.asking.inspect_cuda import is_below
from tests import put

LADDER = "04_cuda_kernels/matmul"


@pytest.mark.parametrize("name", ["matmul", "conv2d", "add"])
def test_every_kind_of_case_comes_before_a_second_one_of_a_kind(name):
    operator = operators.get(name)
    cases = operator.cases(1)
    order = under_cusim.varied(operator, cases)
    assert sorted(number for number, _ in order) == list(range(len(cases)))
    assert all(cases[number] is case for number, case in order)
    sizes = [under_cusim.elements(operator, case) for _, case in order]
    # the first of each kind go from the smallest to the largest
    first = next(i for i in range(1, len(sizes)) if sizes[i] < sizes[i - 1])
    layouts = [tuple(sorted(case.layout.items())) for _, case in order]
    assert set(layouts[: first + 1]) == set(layouts)
    assert 8 * max(sizes[: first + 1]) > max(sizes)


@pytest.mark.parametrize(("below", "count"), [(False, 7), (True, 3)])
def test_a_rung_below_another_gets_less_time_and_that_is_said(
    monkeypatch, below, count
):
    ran: list[int] = []  # a case takes a second
    monkeypatch.setattr(under_cusim, "run_case", lambda *_, **__: ran.append(1))
    now = SimpleNamespace(monotonic=lambda: float(len(ran)))
    monkeypatch.setattr(under_cusim, "time", now)
    gelu = operators.get("gelu")
    subject = SimpleNamespace(python=False, operator=gelu, begin=lambda: None)
    subject.warnings = ()
    found = under_cusim.look("races", subject, gelu.cases(1), "forward", 1, below=below)
    assert f"{count} of {len(gelu.cases(1))} cases: " in found.message
    assert ("a rung stands above this one" in found.message) is below
    assert found.verdict == "PASS"


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
