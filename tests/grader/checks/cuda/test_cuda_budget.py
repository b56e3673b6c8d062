# SPDX-License-Identifier: MIT
"""What the slow checks of lab 04 look at first, and which rungs get less time."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from grader import operators
from grader.checks.cuda import under_cusim
from grader.course.rungs import Rung, Selection, Task
from grader.engine.inspect_cuda import is_below

LADDER = "04_cuda_kernels/matmul"


@pytest.mark.parametrize("name", ["matmul", "conv2d", "add"])
def test_every_kind_of_case_comes_before_a_second_one_of_a_kind(name):
    operator = operators.get(name)
    cases = operator.cases(1)
    order = under_cusim.varied(operator, cases)
    assert sorted(number for number, _ in order) == list(range(len(cases)))
    assert all(cases[number] is case for number, case in order)
    layouts = {tuple(sorted(case.layout.items())) for case in cases}
    seen, sizes = set(), []
    for _, case in order:
        seen.add(tuple(sorted(case.layout.items())))
        sizes.append(under_cusim.elements(operator, case))
        if len(sizes) > 1 and sizes[-1] < sizes[-2]:
            break  # the first of each kind went from the smallest to the largest
    assert seen == layouts
    largest = max(under_cusim.elements(operator, case) for case in cases)
    assert 8 * max(sizes) > largest


class Slow:
    """A subject whose cases take no time but that of the clock."""

    python = False

    def __init__(self, clock: list[float]) -> None:
        self.operator, self.clock = operators.get("gelu"), clock

    def begin(self) -> None:
        self.warnings = ()


@pytest.mark.parametrize(("below", "count"), [(False, 7), (True, 3)])
def test_a_rung_below_another_gets_less_time_and_that_is_said(
    monkeypatch, below, count
):
    clock = [0.0]

    def one(*_: object, **__: object) -> None:
        clock[0] += 1

    monkeypatch.setattr(under_cusim, "run_case", one)
    monkeypatch.setattr(
        under_cusim, "time", SimpleNamespace(monotonic=lambda: clock[0])
    )
    subject = Slow(clock)
    cases = subject.operator.cases(1)
    found = under_cusim.look("races", subject, cases, "forward", 1, below=below)
    said = f"looked at {count} of {len(cases)} cases: "
    assert found.message.startswith(said)
    assert ("a rung stands above this one" in found.message) is below
    assert found.verdict == "PASS"


def test_a_rung_is_below_another_that_is_written_and_runs_here(tmp_path):
    texts = {
        "00_a": "    // STARTER return STATUS_NOT_IMPLEMENTED;\n",
        "01_b": "    // STARTER return STATUS_NOT_IMPLEMENTED;\n",
        "02_c": "    return STATUS_NOT_IMPLEMENTED;\n",
        "03_d": "",
    }
    rungs = []
    for name, text in texts.items():
        (tmp_path / f"{name}.cu").write_text(text)
        needs = "gpu" if name == "03_d" else ""
        rungs.append(Rung(LADDER, tmp_path / f"{name}.cu", needs=needs))
    task = Task("04_cuda_kernels", "matmul", "cuda", 1.0, rungs=tuple(rungs))
    chosen = Selection((task,), frozenset(rung.id for rung in rungs), whole=False)
    assert [is_below(rung, chosen) for rung in rungs] == [True, False, False, False]
    alone = Selection((task,), frozenset([rungs[0].id]), whole=False)
    assert not is_below(rungs[0], alone)
