# SPDX-License-Identifier: MIT
"""The speed check: what it compares and refuses, and what it is worth. Never a time."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import torch
from signatures import DIRECTIONS, SIGNATURES
from torch.utils._python_dispatch import TorchDispatchMode

from grader import operators
from grader.checks.check_result import CheckResult
from grader.checks.speed import baseline, machine, speed, timing
from grader.checks.speed.estimate import Speed
from grader.checks.subject import Subject
from grader.course import bands
from grader.course.bands import Band, Cost
from grader.course.rungs import Rung, Task
from grader.course.tasks import all_tasks
from grader.engine import results
from grader.engine.answers import as_json
from grader.engine.score import RungResult, TaskResult, exit_status
from grader.errors import GraderError
from grader.operators import Case
from grader.operators.cost import cost
from grader.verdicts import Verdict

Compile = Callable[..., dict[str, Path]]
GELU_BODY = """for (int64_t i = 0; i < COUNT; i++) {
        const double v = (double)x[i];
        y[i] = (real)(0.5 * v * (1 + real_erf((accum)(v * 0.7071067811865476))));
    }"""
CASE = Case("some", shapes={"input": [40, 50]})


def subject_of(libraries: dict[str, Path]) -> Subject:
    """A gelu whose both directions are in these files."""
    both = {dtype: (library, library) for dtype, library in libraries.items()}
    return Subject(operators.get("gelu"), libraries=both)


@pytest.fixture(scope="module")
def peaks(tools: Path) -> Any:
    """A machine peaks, its numbers made up."""
    made = machine.Peaks(fma=1e10, multiply_add=1e9, bandwidth=[(1 << 20, 1e10)])
    yield made
    made.close()


def timed(
    libraries: dict[str, Path],
    peaks: machine.Peaks,
    of: str = "pytorch",
    *,
    floor: float = 1e-9,
    full: float = 1e9,
    tries: int = 1,
) -> Speed:
    """The speed check of a gelu's forward."""
    with closing(subject_of(libraries)) as subject:
        band = Band("some", floor, full, of)
        return speed.check(subject, CASE, "forward", band, 1, peaks, tries=tries)


# ---- what is compared ----------------------------------------------------------------


def test_a_right_rung_gets_a_time_and_a_ratio(
    compile_gelu: Compile, peaks: machine.Peaks
) -> None:
    found = timed(compile_gelu(GELU_BODY), peaks, "multiply_add")
    assert found.verdict in (Verdict.PASS, Verdict.NOISY)
    assert found.ms and found.ms > 0
    assert found.ratio and found.ratio.low <= found.ratio.value <= found.ratio.high
    assert found.share and found.share.value > 0
    assert 0 < found.worst <= 1
    assert found.baseline == "pytorch/native"


KEPT = f"""if (calls++ > 4) {{ for (int64_t i = 0; i < COUNT; i++) y[i] = kept[i];
        return 0; }} {GELU_BODY}
    for (int64_t i = 0; i < COUNT; i++) kept[i] = y[i];"""
FIRST = f"""const int first = x < last || !last;
    last = x;
    if (!first) return 0;
    {GELU_BODY}"""


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("static int calls;", f"if (calls++ > 4) return 0; {GELU_BODY}"),
        ("static real kept[4096]; static int calls;", KEPT),
        ("", f"{GELU_BODY} if (COUNT > 1000) y[COUNT - 1] = 0;"),
        # calls of one wake lie behind each other: a rung can tell the first one
        ("static const real *last;", FIRST),
    ],
    ids=[
        "only_the_first_calls",
        "a_result_kept",
        "small_cases_only",
        "first_of_a_wake",
    ],
)
def test_right_when_checked_and_wrong_when_timed(
    compile_gelu: Compile, peaks: machine.Peaks, before: str, body: str
) -> None:
    """Each skips work that no untimed check would miss: cached, or not done at all."""
    found = timed(compile_gelu(body, before=before), peaks)
    assert found.verdict is Verdict.WRONG_VALUE and found.earned == 0
    assert "wrong when timed" in found.message
    assert re.search(r"\(inputs of key 0x[0-9a-f]{32}, call \d\)$", found.message)


def test_a_time_that_cannot_be_is_suspected(compile_gelu: Compile, tools: Path) -> None:
    slow = machine.Peaks(fma=1e10, multiply_add=1e9, bandwidth=[(1 << 20, 1.0)])
    slow.raise_to_now = lambda: None  # type: ignore[method-assign]
    with closing(slow):
        found = timed(compile_gelu(GELU_BODY), slow)
    assert found.verdict is Verdict.SUSPECT and found.earned == 0
    assert "A person has to check" in found.message


def test_far_too_slow_earns_nothing_and_is_not_noisy(
    compile_gelu: Compile, peaks: machine.Peaks
) -> None:
    body = f"for (volatile int i = 0; i < 300000000; i++) {{}} {GELU_BODY}"
    found = timed(compile_gelu(body), peaks, floor=0.5, full=1.0, tries=3)
    assert found.verdict in (Verdict.PASS, Verdict.TIMEOUT) and found.earned == 0


def test_a_crash_while_timed_costs_the_speed_only(
    compile_gelu: Compile, peaks: machine.Peaks
) -> None:
    body = f"{GELU_BODY} if (calls++ > 6) *(volatile int *)8 = 1;"
    found = timed(compile_gelu(body, before="static int calls;"), peaks)
    assert found.verdict is Verdict.CRASH
    assert found.message.startswith("case some:")


def test_every_round_has_other_inputs() -> None:
    operator = operators.get("conv2d")
    data = baseline.Data(operator, next(iter(operator.speed_cases().values())), 2, 1)
    before = {name: tensor.clone() for name, tensor in data.inputs.items()}
    data.renew()
    for name, tensor in data.inputs.items():
        assert not bool((tensor == before[name]).any()), name
        assert not bool((tensor[0] == tensor[1]).any()), name


def test_coordinates_change_places_and_a_key_draws_a_round_again() -> None:
    operator = operators.get("subm_conv3d")
    data, other = (
        baseline.Data(operator, operator.speed_cases()["small"], 1, 1) for _ in "ab"
    )
    before = data.inputs["coordinates"].clone()
    data.renew()
    after = data.inputs["coordinates"].clone()
    assert not torch.equal(before, after)
    assert sorted(before[0].tolist()) == sorted(after[0].tolist())
    key, features = data.key, data.inputs["features"].clone()
    data.renew()
    other.renew(key)
    assert torch.equal(other.inputs["coordinates"], after)
    assert torch.equal(other.inputs["features"], features)
    assert not torch.equal(data.inputs["features"], features)
    assert key >> 64 and data.key != key  # all 128 bits of it are drawn


def test_the_seed_does_not_tell_what_is_timed() -> None:
    """Two measurements of one seed: neither their first round nor a later one agree."""
    operator = operators.get("gelu")
    data, other = (baseline.Data(operator, CASE, 1, 7) for _ in "ab")
    assert torch.equal(data.inputs["input"], other.inputs["input"])  # warms up alone
    for _ in range(2):
        data.renew()
        other.renew()
        assert not bool((data.inputs["input"] == other.inputs["input"]).any())


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(
    "task", [t.id for t in all_tasks() if t.speed and t.speed.bands]
)
def test_pytorch_side_computes_the_operator(task: str, direction: str) -> None:
    """The baseline gives the values the reference gives, for every timed ladder."""
    operator = operators.get(task.split("/")[1])
    wanted = next(t for t in all_tasks() if t.id == task)
    assert wanted.speed
    cases = operator.speed_cases()
    name = wanted.speed.bands[direction].case
    if wanted.language == "cuda":
        name = next(iter(cases))  # what fills a card takes a processor minutes
    case = cases[name]
    data = baseline.Data(operator, case, 1, 3)
    side = baseline.PyTorch(operator, case, direction, data, 1)
    side.prepare()
    side.sample()
    inputs, grads = data.of_call(0)
    truth = operator.truth(inputs, case, grads if direction == "backward" else [])
    right = truth.outputs if direction == "forward" else truth.gradients
    expected = [r for r in right if r is not None]
    for got, value in zip(side.results[0], expected, strict=True):
        assert torch.allclose(got.double(), value, rtol=1e-3, atol=1e-3)
    assert baseline.name(operator, case, data, direction).startswith("pytorch/")


class NothingIsRead(TorchDispatchMode):
    """Refuses what makes a processor wait for a card's numbers."""

    WAITS = ("_local_scalar_dense", "nonzero", "masked_select", "unique")

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        assert not any(name in str(function) for name in self.WAITS), function
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("name", SIGNATURES)
def test_a_timed_call_of_pytorch_waits_for_no_number(name: str, direction: str) -> None:
    operator = operators.get(name)
    case = next(iter(operator.speed_cases().values()))
    data = baseline.Data(operator, case, 1, 3)
    side = baseline.PyTorch(operator, case, direction, data, 1)
    side.prepare()
    with NothingIsRead():
        side.sample()


# ---- costs ---------------------------------------------------------------------------


def made_cost(name: str, case: Case, direction: str) -> Cost:
    """The cost of a case."""
    operator = operators.get(name)
    inputs = operator.inputs(case, torch.float32, 1)
    outputs = operator.outputs(inputs, case)
    return cost(operator, case, inputs, outputs, direction=direction)


def test_costs_are_those_of_the_direct_algorithm() -> None:
    case = Case("c", {"N": 2, "IC": 4, "IH": 8, "IW": 6, "OC": 6, "KH": 3, "KW": 3})
    grouped = Case("g", case.sizes, {"groups": 2, "padding": [1, 1]})
    plain = made_cost("conv2d", case, "forward")
    assert plain.work == 2 * 6 * 6 * 4 * 4 * 9  # N OC OH OW IC KH KW
    assert plain.flops == 2 * plain.work
    assert plain.bytes == 4 * (2 * 4 * 8 * 6 + 6 * 4 * 9 + 6 + 2 * 6 * 6 * 4)
    assert made_cost("conv2d", grouped, "forward").work == 2 * 6 * 8 * 6 * 2 * 9
    assert made_cost("conv2d", case, "backward").work == 2 * plain.work
    shapes = {"input": [5, 3, 4], "other": [5, 4, 7]}
    assert (
        made_cost("matmul", Case("m", shapes=shapes), "forward").work == 5 * 3 * 4 * 7
    )
    element = made_cost("gelu", Case("e", shapes={"input": [5, 3]}), "forward")
    assert (element.work, element.flops, element.bytes) == (15, 0, 120)


def test_sparse_cost_counts_pairs_not_places() -> None:
    operator = operators.get("subm_conv3d")
    case = operator.speed_cases()["small"]
    inputs = operator.inputs(case, torch.float32, 1)
    pairs = int(operator.saved(inputs, case)[1][0].sum())
    assert made_cost("subm_conv3d", case, "forward").work == pairs * 16 * 16


# ---- bands and points ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "earned"),
    [(0.05, 0), (0.1, 0), (0.2, 0.5), (0.4, 1), (7.0, 1), (math.nan, 0)],
)
def test_points_grow_with_the_logarithm(share: float, earned: float) -> None:
    band = Band("x", floor=0.1, full=0.4)
    assert band.earned(share) == pytest.approx(earned)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"points": 3, "forward": {}}, "at most the ladder's 2 points"),
        ({"points": 1, "of": "clock"}, "'speed.of' is 'clock'"),
        ({"points": 1}, "lacks a table for"),
        ({"points": 1, "forward": {"case": "x", "floor": 1}}, "lacks the key 'full'"),
        (
            {"points": 1, "forward": {"case": "x", "floor": 2, "full": 1}},
            "floor < full",
        ),
        ({"points": 1, "speed": 2}, "unknown key 'speed'"),
        (7, "expected a table"),
    ],
)
def test_a_wrong_band_is_refused_in_a_sentence(entry: Any, words: str) -> None:
    with pytest.raises(GraderError, match=r"^labs/x: ") as caught:
        bands.parse("labs/x", entry, 2.0)
    assert words in str(caught.value)


def test_every_band_names_a_case_that_exists() -> None:
    timed = [task for task in all_tasks() if task.speed and task.speed.bands]
    assert len(timed) > 5
    for task in timed:
        assert task.speed
        cases = operators.get(task.operator).speed_cases()
        assert {band.case for band in task.speed.bands.values()} <= set(cases), task.id


BAND = Band("some", 0.1, 0.4, worth=1.0)
TASK = Task(
    "02_naive_c",
    "gelu",
    "c",
    4.0,
    speed=bands.SpeedTask(2.0, {"forward": BAND, "backward": BAND}),
)
RUNG = Rung("02_naive_c/gelu", Path(__file__))


def made_speed(verdict: Verdict, share: float, direction: str = "forward") -> Speed:
    """A speed as the check returns it."""
    found = timing.Estimate(share, share, share)
    return Speed("some", direction, verdict, "pytorch/native", share=found, band=BAND)


def outcome(*speeds: Speed, forward: Verdict = Verdict.PASS) -> TaskResult:
    """A task whose forward has this verdict, with these times."""
    checks = (CheckResult("forward", "forward", forward),)
    return TaskResult(TASK, (RungResult(RUNG, checks, speeds=speeds),), ("forward",))


@pytest.mark.parametrize(
    ("result", "points", "pending"),
    [
        (outcome(), 1.0, 1.0),  # right, not timed
        (outcome(made_speed(Verdict.PASS, 0.4)), 2.0, 0.0),
        (outcome(made_speed(Verdict.PASS, 0.2)), 1.5, 0.0),
        (outcome(made_speed(Verdict.PASS, 0.01)), 1.0, 0.0),
        (outcome(made_speed(Verdict.NOISY, 0.4)), 1.0, 1.0),
        (outcome(made_speed(Verdict.GRADER, 0.4)), 1.0, 1.0),
        (outcome(made_speed(Verdict.WRONG_VALUE, 0.4)), 1.0, 0.0),
        (outcome(made_speed(Verdict.PASS, 0.4), forward=Verdict.WRONG_VALUE), 0.0, 0.0),
        (outcome(forward=Verdict.GRADER), 0.0, 2.0),
    ],
)
def test_points_of_a_direction(
    result: TaskResult, points: float, pending: float
) -> None:
    assert (result.points, result.pending) == (points, pending)


def test_noise_costs_nothing() -> None:
    wide = timing.Estimate(0.3, 0.2, 0.4)
    found = Speed("some", "forward", Verdict.PASS, "x", share=wide, band=BAND)
    assert found.earned == 1  # the upper end counts


def test_a_slow_rung_that_is_right_is_a_success() -> None:
    assert exit_status([outcome(made_speed(Verdict.PASS, 0.01))]) == 0


def test_speeds_fit_the_schema_and_keep_their_points() -> None:
    schema = json.loads(results.SCHEMA_FILE.read_text())
    speed_schema = {"$defs": schema["$defs"], "$ref": "#/$defs/speed"}
    full = made_speed(Verdict.PASS, 0.2)
    for found in (full, Speed("some", "forward", Verdict.NOISY, "x")):
        entry = as_json.speed_entry(found)
        jsonschema.validate(entry, speed_schema)
        assert entry["points"] == found.earned * entry["points_of"]
        assert as_json.speed(entry) == found
