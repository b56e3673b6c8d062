# SPDX-License-Identifier: MIT
"""`make bench LAB=05`: right values, whole tables; no time is asserted."""

from __future__ import annotations

import json

import pytest
import torch

from grader import operators
from grader.bench import (
    extension_calls,
    extension_costs,
    extension_sides,
    request,
)
from grader.bench.extension_raw import Raw
from grader.bench.ladders import Wanted
from grader.checks.speed import timing
from grader.errors import GraderError
from grader.toolchain import isa
from tests.labs import extension
from tests.labs.extension_build import alone

CASE = "small"


@pytest.fixture(scope="module")
def bare(tools):
    """convlab_ext, imported, and the bare kernels it was built with, by operator."""
    extension.package()
    patch = pytest.MonkeyPatch()
    patch.delenv("CONVLAB_BUILD")  # where tests/labs/extension.py has them compiled
    with alone():
        kernels = {operator: Raw(operator) for operator in ("add", "matmul", "conv2d")}
    patch.undo()
    return kernels


@pytest.fixture
def short(monkeypatch, bare):
    """Few rounds."""
    monkeypatch.setattr(extension_costs, "Raw", bare.__getitem__)
    monkeypatch.setattr(extension_calls, "Raw", bare.__getitem__)
    monkeypatch.setattr(extension_costs, "BUDGET", 0.01)
    monkeypatch.setattr(extension_costs, "TRIES", 1)
    monkeypatch.setattr(extension_calls, "BUDGET", 0.01)
    monkeypatch.setattr(timing, "ROUNDS", 2)
    monkeypatch.setattr(timing, "ROUNDS_SLOW", 2)


@pytest.mark.parametrize(
    ("operator", "shapes", "options"),
    [
        ("add", ((4, 1), (3,)), {"alpha": 0.5}),
        ("matmul", ((3, 4), (4, 5)), {}),
        ("conv2d", ((2, 4, 7, 6), (6, 2, 3, 2), (6,)), {"stride": (2, 1), "groups": 2}),
    ],
)
def test_a_bare_kernel_computes_into_what_it_is_given(bare, operator, shapes, options):
    tensors = [torch.randn(shape, dtype=torch.float64) for shape in shapes]
    reference = operators.get(operator).reference(*tensors, **options)
    output = torch.empty_like(reference)
    call = bare[operator].call("forward", tensors, options, [output])
    call()
    torch.testing.assert_close(output, reference)


@pytest.mark.parametrize("part", extension_costs.PARTS)
def test_all_ways_of_a_convolution_agree_in_all_results(bare, part):
    conv = extension_sides.Conv(operators.get("conv2d").speed_cases()[CASE], "cpu", 1)
    ways = extension_sides.sides(conv, part, bare["conv2d"])
    assert tuple(ways) == extension_sides.WAYS
    assert {len(way.once()) for way in ways.values()} == {1 if part == "forward" else 4}
    assert extension_costs._error(ways) < 1e-5
    with torch.no_grad():
        module = ways["module"]
        assert isinstance(module, extension_sides.Module)
        module.layer.weight[0, 0, 0, 0] += 1
    assert extension_costs._error(ways) > extension_costs.WRONG


ONE = Wanted("05", f"LAB=05 CASES={CASE}", 1, cases=(CASE,), parts=("forward",))


def test_the_command_measures_and_prints_but_keeps_only_whole_runs(short, capsys):
    assert extension_costs.bench(ONE) == 0
    said = capsys.readouterr().out
    assert f"Made by `make bench LAB=05 CASES={CASE} SEED=1`; 1 thread." in said
    (row,) = [line for line in said.splitlines() if line.startswith(f"| {CASE} on CPU")]
    assert row.count("|") == len(extension_costs.HEAD) + 1
    assert "written" not in said


def test_a_wrong_value_has_no_time(short, capsys, monkeypatch):
    monkeypatch.setattr(extension_costs, "_error", lambda _: float("inf"))
    assert extension_costs.bench(ONE) == 1
    (row,) = [r for r in capsys.readouterr().out.splitlines() if "WRONG_VALUE" in r]
    assert row.count("|") == len(extension_costs.HEAD) + 1


def test_a_whole_run_is_a_page_and_its_numbers(monkeypatch, tmp_path):
    monkeypatch.setattr(request, "folder", lambda: tmp_path)
    whole = {"command": "make bench LAB=05", "shapes": []}
    written = extension_costs._write(whole, "# page\n", Wanted("05", "LAB=05", 1))
    assert len(written) == 2
    assert json.loads((tmp_path / f"convperf{isa.suffix()}.json").read_text()) == whole
    assert (tmp_path / f"convperf{isa.suffix()}.md").read_text() == "# page\n"


def test_calls_have_a_line_for_every_way_that_is_built(short):
    lines = extension_calls.calls(1)
    ways = {(line["operator"], line["way"]) for line in lines}
    assert {
        ("add", "the kernel alone, by ctypes"),
        ("add", "torch.ops, step (c)"),
        ("add", "convlab_ext.add, recording"),
        ("conv2d", "convlab_ext.Conv2d, forward and backward"),
        ("conv2d", "torch.nn.Conv2d, recording"),
    } <= ways
    for found in (*lines, *(line["behind"] for line in lines)):
        assert found["low"] <= found["us"] <= found["high"]
    assert len(extension_calls.call_lines(lines)) == len(lines) + 6


def test_languages_have_a_column_for_every_way_and_a_ratio_to_python():
    line = {"operator": "add", "shapes": [[2, 3], [3]]}
    line |= {"times": {"operator": [4.0, 3.9, 4.1]}}
    line |= {"ms": {"python": 2.0, "operator": 0.5}}
    *_, head, _, row = extension_calls.language_lines([line])
    assert "Python, lab 01, ms | operator, lab 05, ms | x Python" in head
    assert row == "| add of 2x3, 3 | 2.000 | 0.500 | 4 (3.9 .. 4.1) |"


def test_a_case_that_is_not_there_is_told(short):
    with pytest.raises(GraderError, match=r"CASES=none: conv2d has no such case"):
        extension_costs.bench(Wanted("05", "LAB=05", 1, cases=("none",)))
