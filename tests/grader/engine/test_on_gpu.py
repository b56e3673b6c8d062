# SPDX-License-Identifier: MIT
"""Grading and timing on a card, with cusim as the runtime: what is asked and told."""

from __future__ import annotations

import dataclasses
import json
from functools import partial

import jsonschema
import pytest
from signatures import DIRECTIONS

from grader import operators
from grader.bench import counting, gpu_ladders, request
from grader.bench.ladders import Row, Wanted
from grader.checks.check_result import CheckResult
from grader.checks.cuda import compute_sanitizer
from grader.checks.speed import gpu_speed
from grader.checks.speed.estimate import Speed
from grader.checks.values import forward, gradient
from grader.commands import check_card
from grader.course.bands import Band
from grader.course.tasks import all_tasks, select
from grader.engine import results
from grader.engine.answers import as_json
from grader.engine.checking import on_gpu
from grader.engine.score import RungResult, TaskResult
from grader.errors import GraderError
from grader.report import tables
from grader.toolchain import cusim, gpu_build, gpu_probe
from grader.toolchain.linking import Links
from grader.verdicts import Verdict
from tests import ALL_RIGHT
from tests.card.host_clock import HostClock
from tests.grader.checks.cuda.test_gpu import PRETENDED, card_worker, rung_called
from tests.proofs.stress import reference_links

__all__ = ["card_worker"]  # a fixture
ADD = "04_cuda_kernels/add"
IN_EVERY_DTYPE = [  # the checks of a rung that is built for half, too
    (f"gpu {check}", dtype)
    for direction in ("forward", "gradient")
    for check, dtype in ((direction, "f32"), (direction, "f64"), ("half", "f16"))
]


@pytest.fixture
def a_card(card_worker, monkeypatch):
    """A machine with a card, as far as the grader can tell."""

    def compiled(rung, *, used=(), folder=""):
        where = folder.replace("gpu", gpu_probe.FOLDER, 1) or gpu_probe.FOLDER
        return cusim.compiled(rung, used=used, folder=where)

    monkeypatch.setattr(cusim, "build_tools", lambda *_: None)
    monkeypatch.setattr(gpu_build, "compiled", compiled)
    monkeypatch.setattr(gpu_probe, "build_tools", lambda: None)
    monkeypatch.setattr(gpu_probe, "card", lambda: PRETENDED)
    monkeypatch.setattr(gpu_probe, "measured", lambda: PRETENDED)
    monkeypatch.setattr(gpu_speed, "EventClock", lambda _: HostClock())
    monkeypatch.setattr(gpu_speed, "audit", lambda *_: "")
    monkeypatch.setattr(gpu_speed, "BUDGET", 0.2)
    monkeypatch.setattr(compute_sanitizer, "find", lambda: "")
    links = Links(compiled, judge=ALL_RIGHT)
    return on_gpu.OnCard(1, lambda *_: None, links)


def passed(name: str, verdict: Verdict = Verdict.PASS) -> RungResult:
    """A rung as it comes from cusim."""
    checks = [
        CheckResult(check, direction, verdict)
        for check, direction in (("forward", "forward"), ("gradient", "backward"))
    ]
    return RungResult(rung_called(name), tuple(checks))


def test_both_directions_are_checked_in_every_dtype(a_card):
    made = a_card.checked(passed("add/00_strided"))
    added = [(c.name, c.dtype, c.verdict) for c in made.checks[2:]]
    assert added == [(name, dtype, Verdict.PASS) for name, dtype in IN_EVERY_DTYPE]
    whole = as_json.rung_entry(made, 1)
    schema = json.loads(results.SCHEMA_FILE.read_text())
    only = {"$defs": schema["$defs"], "$ref": "#/$defs/check"}
    for entry in whole["checks"]:
        jsonschema.validate(entry, only)


def test_what_waited_for_a_card_waits_no_longer_and_what_is_wrong_is_not_run(a_card):
    made = a_card.checked(passed("add/00_strided", Verdict.PENDING_GPU))
    assert made.verdict("forward") is made.verdict("backward") is Verdict.PASS
    before = passed("add/00_strided", Verdict.WRONG_VALUE)
    assert a_card.checked(before) is before


@pytest.mark.parametrize(
    ("architectures", "runs"),
    [
        (("sm_100a",), False),
        (("sm_100",), False),
        (("sm_80", "sm_100"), True),
        (("sm_90a",), True),
        (("sm_80a",), False),
    ],
)
def test_a_rung_for_another_kind_of_card_waits_for_one(a_card, architectures, runs):
    before = passed("add/00_strided")
    rung = dataclasses.replace(before.rung, architectures=architectures)
    if runs:
        assert gpu_build.lacking(rung) == ""
        return
    made = a_card.checked(dataclasses.replace(before, rung=rung))
    assert made.verdict("forward") is made.verdict("backward") is Verdict.PENDING_GPU
    assert "a pretended card, is sm_90" in made.checks[-1].message
    assert architectures[0] in made.checks[-1].message


def test_a_rung_for_one_kind_of_card_is_built_for_it(a_card):
    rung = dataclasses.replace(rung_called("add/00_strided"), architectures=("sm_90a",))
    assert gpu_build.architecture(rung) == "sm_90a"


def test_a_rung_that_nvcc_refuses_is_told_so(a_card, monkeypatch):
    place = "labs/04_cuda_kernels/add/00_strided.cu"
    refused = gpu_build._failed(f"{place}(3): error: no such thing\n")
    monkeypatch.setattr(gpu_build, "compiled", lambda *_, **__: refused)
    made = a_card.checked(passed("add/00_strided"))
    (found,) = [c for c in made.checks if c.direction == "forward"][1:]
    assert (found.name, found.verdict) == ("gpu build", Verdict.BUILD)
    assert found.location == f"{place}:3"


@pytest.mark.parametrize(
    ("files", "case", "library", "directions"),
    [
        # matmul has its gradients in a rung of their own
        (["matmul/00_naive", "matmul/01_coalesced"], "m96", "cuBLAS tf32=off", 1),
        (
            ["layer_norm/00_thread_per_row", "layer_norm/01_warp_per_row"],
            "rows",
            "CUDA",
            2,
        ),
    ],
    ids=["matmul", "layer_norm"],
)
def test_the_fastest_is_timed_and_waits_for_a_band(
    a_card, monkeypatch, files, case, library, directions
):
    name, wanted = files[0].split("/")[0], DIRECTIONS[:directions]
    small = operators.get(name).speed_cases()[case]
    monkeypatch.setattr(on_gpu, "timed_case", lambda *_: small)
    (task,) = select(f"04_cuda_kernels/{name}").tasks
    task = dataclasses.replace(task, speed=dataclasses.replace(task.speed, bands={}))
    before = []
    for result in map(passed, files):
        checks = tuple(c for c in result.checks if c.direction in wanted)
        before.append(dataclasses.replace(result, checks=checks))
    after = a_card.timed(task, before)
    found = [speed for rung in after for speed in rung.speeds]
    assert [speed.direction for speed in found] == list(wanted)
    assert all(speed.ms > 0 for speed in found)
    for speed in found:
        words = ("no speed band", f"pytorch/{library}")
        waits = all(word in speed.message for word in words)
        assert speed.verdict in (Verdict.PENDING_GPU, Verdict.NOISY), speed.message
        assert waits or speed.verdict is Verdict.NOISY, speed.message
    pending = sum(task.speed.points_of(direction) for direction in wanted)
    assert TaskResult(task, tuple(after)).pending == pending


def test_a_band_turns_the_ratio_into_points(a_card, monkeypatch):
    rows = operators.get("add").speed_cases()["rows"]
    monkeypatch.setattr(on_gpu, "timed_case", lambda *_: rows)
    (task,) = select(ADD).tasks
    every = {"forward": Band("rows", 1e-9, 2e-9)}  # a band that every rung reaches
    speed = dataclasses.replace(task.speed, bands=every)
    task = dataclasses.replace(task, speed=speed)
    (after,) = a_card.timed(task, [passed("add/00_strided")])
    (timed,) = after.speeds
    assert timed.verdict in (Verdict.PASS, Verdict.NOISY), timed
    assert timed.earned == (timed.verdict is Verdict.PASS)


# ---- make grade CHECK=card -----------------------------------------------------------


def test_check_card_asks_the_card_alone_and_gives_no_points(
    a_card, tmp_path, monkeypatch, capsys
):
    for module in (forward, gradient):  # cusim's release build would be judged by these
        usual = module.check
        monkeypatch.setattr(module, "check", partial(_on_card_only, usual))
    monkeypatch.setattr(results, "folder", lambda: tmp_path)
    wanted = select(f"{ADD}/00"), 1, 1
    assert check_card.run(*wanted) == 0
    written = json.loads((tmp_path / check_card.FILE).read_text())
    jsonschema.validate(written, json.loads(results.SCHEMA_FILE.read_text()))
    (rung,) = written["tasks"][0]["rungs"]
    found = [(c["name"], c["dtype"], c["verdict"]) for c in rung["checks"]]
    assert found == [(name, dtype, "PASS") for name, dtype in IN_EVERY_DTYPE]
    assert not (tmp_path / results.NAME).exists()
    assert "no points: only the check on the GPU ran" in capsys.readouterr().out


def _on_card_only(usual, subject, *words, **options):
    for pair in subject.libraries.values():
        assert all(gpu_probe.FOLDER in file.parts for file in pair)
    return usual(subject, *words, **options)


@pytest.mark.parametrize(
    ("card", "task", "words"),
    [
        (None, ADD, "CHECK=card needs a GPU, but there is none today"),
        (PRETENDED, "02_naive_c/add", "CHECK=card checks only kernels of lab 04"),
    ],
)
def test_check_card_says_what_it_lacks(monkeypatch, card, task, words):
    monkeypatch.setattr(gpu_probe, "card", lambda: card)
    monkeypatch.setattr(gpu_probe, "absent", lambda: "there is none today")
    with pytest.raises(GraderError, match=words):
        check_card.kernels(select(task))


# ---- make bench ----------------------------------------------------------------------


def test_times_become_rows_of_a_table_and_of_json(a_card, tmp_path, monkeypatch):
    selection = select(f"{ADD}/00_strided")
    wanted = Wanted("04_cuda_kernels_add_00", "T=add", 1, cases=("rows",))
    monkeypatch.setattr(request, "folder", lambda: tmp_path)
    file = request.Growing(PRETENDED, wanted)
    run = gpu_ladders.Bench(selection, wanted)
    run.links, run.on_card = a_card.links, a_card
    rows = list(run.times(selection.tasks[0], file.has))
    assert [(row.part, row.speed.case) for row in rows] == [
        ("forward", "rows"),
        ("backward", "rows"),
    ]
    file.add(rows[0])  # and is stopped here
    file = request.Growing(PRETENDED, dataclasses.replace(wanted, seed=2))
    (left,) = run.times(selection.tasks[0], file.has)
    assert (file.before, left.part) == (1, "backward")
    file.add(left)
    assert json.loads(file.path.read_text())["unfinished"]
    file.write()
    written = json.loads(file.path.read_text())
    assert [row["part"] for row in written["rows"]] == ["forward", "backward"]
    assert not request.Growing(PRETENDED, wanted).before  # a whole one begins anew
    assert "a pretended card" in tables.note(written)
    assert tables.ratios(written, "forward", "")[2].startswith("| `rows` |")
    line = gpu_ladders.cells(rows[0], {})
    assert len(line) == len(gpu_ladders.HEAD)
    assert line[-1] == "pytorch/CUDA"


def test_rows_of_another_card_or_another_file_are_measured_again(tmp_path, monkeypatch):
    monkeypatch.setattr(request, "folder", lambda: tmp_path)
    wanted = Wanted("04", "LAB=04", 1)
    rung = rung_called("add/00_strided")
    speed = Speed("rows", "forward", Verdict.SUSPECT, "pytorch/CUDA")
    file = request.Growing(PRETENDED, wanted)
    file.add(Row(rung, "forward", (rung.id,), speed))
    faster = dataclasses.replace(PRETENDED, fma=2e9)  # the same, measured again
    again = request.Growing(faster, wanted)
    assert again.has(rung, "forward", "rows")
    assert not again.has(rung, "backward", "rows")
    other = dataclasses.replace(PRETENDED, name="another card")
    assert not request.Growing(other, wanted).before
    monkeypatch.setattr(type(rung), "sha256", "changed")
    assert not again.has(rung, "forward", "rows")


def test_a_fault_of_the_stopwatch_costs_one_row(a_card, monkeypatch):
    def fails(*_, **words):
        assert (words["budget"], words["tries"]) == (2.0, 1)
        raise TypeError("ours")

    monkeypatch.setattr(gpu_speed, "check", fails)
    selection = select(f"{ADD}/00_strided")
    wanted = Wanted("add", "T=add", 1, cases=("rows",), budget=2.0)
    run = gpu_ladders.Bench(selection, wanted)
    run.links, run.on_card = a_card.links, a_card
    rows = list(run.times(selection.tasks[0], lambda *_: False))
    assert [row.speed.verdict for row in rows] == [Verdict.GRADER] * 2
    assert "TypeError: ours" in rows[0].speed.message


def test_a_row_without_a_time_says_why():
    speed = Speed("rows", "forward", Verdict.SUSPECT, "pytorch/CUDA")
    row = Row(rung_called("add/00_strided"), "forward", (), speed)
    line = gpu_ladders.cells(row, {})
    assert len(line) == len(gpu_ladders.HEAD) and line[3] == "SUSPECT"


# ---- counts --------------------------------------------------------------------------

ROW = {
    "task": ADD,
    "rung": f"{ADD}/00_strided",
    "sha256": "",
    "direction": "forward",
    "case": "large",
    "bytes": 12582912,
    "least": 12582912,
    "requests": 98304,
    "sectors": 4.0,
    "wavefronts": 0.0,
    "architecture": "sm_90",
    "registers": 34,
    "spills": 0,
    "shared": 0,
    "occupancy": 0.75,
}


def test_counts_are_a_table_in_a_readme(tmp_path):
    entry = counting.Counted(**ROW)
    path = counting.write([entry], tmp_path, "make bench LAB=04 SEED=1")
    assert path.name == counting.FILE
    later = dataclasses.replace(entry, registers=40)
    counting.write([later], tmp_path, "make bench LAB=04 SEED=2")
    assert len(json.loads(path.read_text())["rows"]) == 1
    page = f"<!-- bench {counting.FILE} counts add -->\n<!-- end bench -->\n"
    filled = tables.filled(page, tmp_path)
    assert "| `00_strided` | forward | `large` | 12,582,912 | 1 | 4.00 | - | 40 |" in (
        filled
    )
    assert "nvcc for sm_90" in filled
    assert "SEED=2" in filled


def test_without_nvcc_registers_are_a_dash():
    assert tables.counted({**ROW, "architecture": ""})[-3:] == ["-"] * 3


def test_a_rung_is_counted_on_the_case_of_its_limits():
    matmul = operators.get("matmul")
    rung = rung_called("matmul/02_shared_tile")
    assert counting.case_of(rung, matmul, "forward", 1).name == "m96"
    free = dataclasses.replace(rung, traffic=())
    assert counting.case_of(free, matmul, "forward", 1).name in matmul.speed_cases()


@pytest.mark.usefixtures("tools")
def test_each_number_of_an_addition_is_counted_once():
    task = next(t for t in all_tasks() if t.id == "04_cuda_kernels/add")
    rows = counting.of_task(task, task.rungs[1:2], reference_links(), 1)
    assert [row.direction for row in rows] == ["forward", "backward"]
    assert 1.0 <= rows[0].bytes / rows[0].least < 1.05


@pytest.mark.usefixtures("tools")
def test_a_backward_is_counted_that_is_handed_what_a_lower_file_saved():
    task = next(t for t in all_tasks() if t.id == "04_cuda_kernels/layer_norm")
    alone = [rung for rung in task.rungs if rung.id.endswith("03_one_pass")]
    (row,) = counting.of_task(task, alone, reference_links(), 1)
    assert row.direction == "backward"
    assert 1.0 <= row.bytes / row.least < 3.0  # without the forward's


def test_a_card_that_pytorch_does_not_find_is_one_sentence(monkeypatch):
    monkeypatch.setattr(gpu_speed.torch.cuda, "is_available", lambda: False)
    with pytest.raises(GraderError, match=r"PyTorch .* does not find it\. Times"):
        gpu_speed.EventClock(PRETENDED)
