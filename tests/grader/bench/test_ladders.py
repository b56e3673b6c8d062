# SPDX-License-Identifier: MIT
"""`make bench`: what it times, whom it names, what it writes. Never a time."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from grader import operators, options
from grader.bench import counting, ladders
from grader.bench.ladders import Wanted, parts_of
from grader.checks.speed import machine, speed, timing
from grader.checks.speed.baseline import BOTH
from grader.checks.speed.estimate import Speed
from grader.commands import bench
from grader.course.bands import Cost
from grader.course.tasks import all_tasks, select
from grader.errors import GraderError
from grader.operators.cost import cost
from grader.verdicts import Verdict
from tests import put
from tests.grader.toolchain.tiny_course import (
    UNSUPPORTED,
    Course,
    course,
    forward,
)

__all__ = ["course"]  # a fixture
TWICE = timing.Estimate(2.0, 1.9, 2.1)
HALF = timing.Estimate(0.5, 0.4, 0.6)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[dict[str, Any]]:
    """Measurements that were asked for, none of them taken."""
    asked: list[dict[str, Any]] = []

    def check(
        subject: Any, case: Any, direction: str, *rest: Any, **words: Any
    ) -> Speed:
        asked.append({"case": case.name, "direction": direction, **words})
        others = dict.fromkeys(words["against"], HALF)
        return Speed(
            case.name, direction, Verdict.PASS, "pytorch/native", ratio=TWICE,
            rounds=9, worst=0.25, others=others, errors=(3e-7, 2e-7),
        ).timed(1e-3, Cost(1, 2, 3), 1e10)  # fmt: skip

    made = machine.Peaks(fma=1e10, multiply_add=1e9, bandwidth=[(1 << 20, 1e10)])
    monkeypatch.setattr(machine, "Peaks", lambda: made)
    monkeypatch.setattr(machine, "keep_memory", lambda: None)
    monkeypatch.setattr(ladders, "pin", lambda threads: None)
    monkeypatch.setattr(ladders, "folder", lambda: tmp_path / "results")
    monkeypatch.setattr(speed, "check", check)
    return asked


def wanted(words: list[str], seed: int) -> Wanted:
    """What `make bench` with these words measures."""
    arguments = options.Arguments(bench.OPTIONS, options.by_name(words))
    return bench._wanted(arguments, seed)


def test_what_costs_time_beside_a_card_can_be_left_out(monkeypatch) -> None:
    made = wanted(["LAB=04", "BUDGET=2", "COUNTS=off"], 1)
    assert (made.budget, made.counts) == (2, False)
    assert made.words == "LAB=04 COUNTS=off BUDGET=2"


def written(tmp_path: Path, name: str) -> dict[str, Any]:
    return json.loads((tmp_path / "results" / f"bench_{name}.json").read_text())


def test_every_part_a_rung_computes_is_timed_and_written(
    measured: list[dict[str, Any]], tools: Path, tmp_path: Path, capsys: Any
) -> None:
    wanted = Wanted("02_naive_c_unfold", "T=02_naive_c/unfold", 7)
    assert ladders.bench(select("02_naive_c/unfold"), wanted) == 0
    cases = list(operators.get("unfold").speed_cases(large=False))
    assert [m["case"] for m in measured] == [c for c in cases for _ in range(2)]
    assert [m["direction"] for m in measured[:2]] == ["forward", "backward"]
    whole = written(tmp_path, "02_naive_c_unfold")
    assert whole["command"] == "make bench T=02_naive_c/unfold SEED=7"
    assert {row["of_tolerance"] for row in whole["rows"]} == {0.25}
    assert {row["pytorch_error"] for row in whole["rows"]} == {2e-7}
    table = capsys.readouterr().out
    assert f"at most {2 * len(cases)} measurements: about" in table
    assert f"02_naive_c/unfold/00_definition: speed, {cases[0]} forward" in table
    assert "itself" in table and "3e-07 (2e-07)" in table and "1.9 .. 2.1" in table


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "make bench SEED=3"),
        (["LAB=02"], "make bench LAB=02 SEED=3"),
        (
            ["02_naive_c/add", "PARTS=forward"],
            "make bench T=02_naive_c/add PARTS=forward SEED=3",
        ),
    ],
)
def test_the_recorded_command_selects_the_same_again(
    words: list[str], said: str
) -> None:
    assert ladders.command(wanted(words, 3)) == said


def test_what_a_rung_leaves_is_no_row(
    course: Course, measured: list[dict[str, Any]], tools: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    (course.root / "build" / "tools").symlink_to(tools)
    course.file("03_next/gelu/00_call.c", forward(0))
    course.file("03_next/gelu/01_leaves.c", forward(UNSUPPORTED))
    course.file("03_next/gelu/02_names.c", forward("tiles"))
    course.lab(
        "03_next",
        '[rung."gelu/01_leaves"]',
        'covers = ["packed"]',
        '[rung."gelu/02_names"]',
        'uses.tiles = "gelu/01_leaves"',
    )
    monkeypatch.setattr(
        "grader.engine.checking.runnable.Trial.is_right", lambda *_: True
    )
    usual = speed.check

    def check(subject: Any, *words: Any, **named: Any) -> Any:
        """A rung that covers some cases only leaves all of them here."""
        found = usual(subject, *words, **named)
        left = Verdict.NOT_IMPLEMENTED
        leaves = "01_leaves" in str(subject.libraries["f32"])
        return replace(found, verdict=left) if leaves else found

    monkeypatch.setattr(speed, "check", check)
    ladders.bench(select("03_next/gelu"), Wanted("x", "T=x", 7))
    found = [r for r in written(tmp_path, "x")["rows"] if r["direction"] == "forward"]
    rows = {row["rung"][-8:]: row["by"] for row in found}
    assert rows == {"/00_call": ["03_next/gelu/00_call"],
                    "02_names": ["03_next/gelu/02_names"]}  # fmt: skip


def test_threads_parts_and_variants_reach_the_stopwatch(
    measured: list[dict[str, Any]], tools: Path, tmp_path: Path, capsys: Any
) -> None:
    wanted = Wanted("y", "", 7, 2, (BOTH,), ("slow2d",))
    ladders.bench(select("02_naive_c/conv2d/01"), wanted)
    assert {m["direction"] for m in measured} == {BOTH}
    assert {m["threads"] for m in measured} == {2}
    assert "pytorch/native; slow2d 0.5" in capsys.readouterr().out
    assert written(tmp_path, "y")["rows"][0]["others"] == {"slow2d": 0.5}


def test_files_of_one_case_stand_together_and_what_has_no_time_says_why(
    measured: list[dict[str, Any]], tools: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: Any,
) -> None:  # fmt: skip
    usual = speed.check

    def check(subject: Any, case: Any, direction: str, *rest: Any, **words: Any) -> Any:
        found = usual(subject, case, direction, *rest, **words)
        if direction == "forward":
            return replace(found, verdict=Verdict.NOISY)
        late = Verdict.TIMEOUT
        return Speed(case.name, direction, late, "pytorch/native", "it took 9 s")

    monkeypatch.setattr(speed, "check", check)
    wanted = Wanted("w", "", 7, cases=("b2_g1",))
    assert ladders.bench(select("02_naive_c/conv2d"), wanted) == 1
    out = capsys.readouterr().out
    rungs = re.findall(r"^\| (02\S+) +\| (\w+) +\| (\S+)", out, re.M)
    cases = list(dict.fromkeys((part, case) for _, part, case in rungs))
    assert len(rungs) == 2 * len(cases) and [
        (part, case) for _, part, case in rungs
    ] == [pair for pair in cases for _ in range(2)]
    assert "conv2d/01_loop_order, backward of " in out
    assert out.count("TIMEOUT: it took 9 s") == sum(
        part != "forward" for _, part, _ in rungs
    )
    assert f"at most {len(rungs)} measurements" in out
    assert out.count("NOISY: after three attempts") == 1


def test_wrong_values_are_told_and_end_with_1(
    measured: list[dict[str, Any]], tools: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: Any,
) -> None:  # fmt: skip
    no = Speed("small", "forward", Verdict.WRONG_VALUE, "pytorch/native")
    monkeypatch.setattr(speed, "check", lambda *_, **__: no)
    assert ladders.bench(select("02_naive_c/gelu"), Wanted("z", "", 7)) == 1
    assert "WRONG_VALUE" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["THREADS=0"], "THREADS= is '0', expected a whole number from 1 to"),
        (["AGAINST=cudnn"], "AGAINST=cudnn: make bench knows no such variant"),
        (["PARTS=forwards"], "PARTS=forwards: expected some of forward,"),
    ],
)
def test_words_that_cannot_be_are_told(words: list[str], sentence: str) -> None:
    with pytest.raises(GraderError, match=sentence):
        wanted(words, 3)


def test_a_part_asks_for_one_gradient_and_costs_half_of_backward() -> None:
    conv2d = operators.get("conv2d")
    case = conv2d.speed_cases()["small"]
    parts = parts_of(conv2d, case)
    assert list(parts) == ["forward", "backward", BOTH, "grad_input", "grad_weight"]
    assert parts["grad_weight"][1].wanted == ("weight", "bias")
    import torch

    inputs = conv2d.inputs(case, torch.float32, 1)
    outputs = conv2d.outputs(inputs, case)
    work = {
        name: cost(
            conv2d, asked, inputs, outputs,
            direction=directions[0] if len(directions) == 1 else BOTH,
        ).work
        for name, (directions, asked) in parts.items()
    }  # fmt: skip
    once = work["forward"]
    assert work == {"forward": once, "backward": 2 * once, BOTH: 3 * once,
                    "grad_input": once, "grad_weight": once}  # fmt: skip


def test_every_ladder_that_names_cases_of_bench_has_them() -> None:
    named = [task for task in all_tasks() if task.bench]
    for task in named:
        assert set(task.bench) <= set(operators.get(task.operator).speed_cases())


def test_nothing_is_counted_of_a_rung_that_computes_in_f16_only() -> None:
    (task,) = [task for task in all_tasks() if task.id == "04_cuda_kernels/matmul"]
    half = [rung for rung in task.rungs if rung.file.stem == "12_half"]
    assert len(half) == 1
    assert counting.of_task(task, half, Mock(spec=[]), 1) == []  # builds nothing


def test_a_row_of_a_rung_that_is_not_counted_any_more_goes(tmp_path) -> None:
    names = ["04_cuda_kernels/add/00_strided", "04_cuda_kernels/matmul/12_half", "gone"]
    rows = [{"rung": name, "direction": "forward"} for name in names]
    put(tmp_path / counting.FILE, json.dumps({"rows": rows}))
    written = json.loads(counting.write([], tmp_path, "make bench").read_text())
    assert [row["rung"] for row in written["rows"]] == names[:1]
