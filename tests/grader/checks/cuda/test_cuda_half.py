# SPDX-License-Identifier: MIT
"""The check `half`: sums of float pass, sums of half do not."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from grader.checks.values.compare import Expected, tolerance
from grader.course.architectures import dtypes
from grader.course.rungs import ROOT
from grader.course.tasks import all_tasks
from grader.engine.asking.lending import paired
from grader.errors import GraderError
from grader.toolchain.products import Build
from tests import put
from tests.grader.engine.test_grade import copy_of_the_repository

LADDER = "04_cuda_kernels/unfold"
LINEAR = "04_cuda_kernels/linear"
LAB = 'language = "cuda"\n[ladder.unfold]\npoints = 4\ndtypes = ["f16"]\n'
ADD = "sum += accum_from(*at3(&grad_output, n, row, oh * OW + ow));"
ROUNDED = ADD.replace("+= ", "= accum_from(real_from(sum + ").replace(";", "));")


def test_a_rung_that_sums_in_half_fails_in_half_and_nowhere_else(
    tools, tmp_path_factory
):
    made = copy_of_the_repository(tmp_path_factory.mktemp("half"), tools)
    folder = made.root / "labs" / LADDER
    put(folder.parent / "lab.toml", LAB)
    right = (ROOT / "labs" / LADDER / "00_gather.cu").read_text()
    assert right.count(ADD) == 1
    put(folder / "00_right.cu", right)
    (folder / "01_in_half.cu").write_text(right.replace(ADD, ROUNDED))
    done = made.run("grade", LADDER, NVCC="none", CI="", timeout=600)
    assert made.results_file.exists(), done
    first, second = made.task(LADDER)["rungs"]
    halves = [c for c in first["checks"] if c["name"] == "half"]
    assert [(c["verdict"], c["dtype"], c["direction"]) for c in halves] == [
        ("PASS", "f16", "forward"),
        ("PASS", "f16", "backward"),
    ], done
    bad = [c for c in second["checks"] if c["verdict"] != "PASS"]
    assert [(c["name"], c["verdict"]) for c in bad] == [("half", "WRONG_GRADIENT")]
    assert "is a sum kept in `real`" in bad[0]["diagnosis"]


def test_in_half_a_sum_of_float_is_rounded_once():
    value = torch.tensor([1.0, 100.0, 0.0], dtype=torch.float64)
    expected = Expected("output", value, torch.tensor([1.0, 1e4, 1e-9]), terms=4)
    allowed = tolerance(expected, torch.float16)
    in_float = 8 * 2.0**-24 * expected.scale.double()
    once = torch.tensor([2.0**-11, 100 * 2.0**-11, 2.0**-25], dtype=torch.float64)
    torch.testing.assert_close(allowed, once + in_float, rtol=1e-3, atol=0)
    rounded = value.half().double()
    assert bool(((rounded - value).abs() <= allowed).all())


@pytest.mark.parametrize(
    ("word", "suffix", "sentence"),
    [
        ("f16", ".cu", "dtypes is 'f16', expected ['f16']"),
        (["bf16"], ".cu", "dtypes is ['bf16'], expected ['f16']"),
        (["f16"], ".c", "expected nothing: the word is for CUDA"),
    ],
)
def test_strange_dtypes_are_refused(word, suffix, sentence):
    with pytest.raises(GraderError) as raised:
        dtypes("lab.toml: ladder.unfold", suffix, {"dtypes": word})
    assert str(raised.value).startswith("lab.toml: ladder.unfold: dtypes is ")
    assert sentence in str(raised.value)


def test_a_direction_lent_by_a_rung_not_for_half_is_missing_in_half_only():
    own = Build({dtype: Path(f"own.{dtype}") for dtype in ("f32", "f64", "f16")})
    below = Build({dtype: Path(f"below.{dtype}") for dtype in ("f32", "f64")})
    assert paired(own, {"backward": below}) == {
        "f32": (Path("own.f32"), Path("below.f32")),
        "f64": (Path("own.f64"), Path("below.f64")),
        "f16": (Path("own.f16"), Path("own.f16")),
    }


def test_the_reference_passes_in_half_above_a_rung_that_is_not_for_half(
    tools, tmp_path
):
    ladders = [task.id for task in all_tasks() if task.language == "cuda"]
    made = copy_of_the_repository(tmp_path, tools, *ladders)
    done = made.run("grade", LINEAR, NVCC="none", CI="", timeout=600)
    assert made.results_file.exists(), done
    _, *rungs = made.task(LINEAR)["rungs"]
    halves = [
        [(c["direction"], c["verdict"]) for c in rung["checks"] if c["name"] == "half"]
        for rung in rungs
    ]
    forward, backward = [("forward", "PASS")], [("backward", "PASS")]
    assert halves == [forward, backward, forward], done
