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
from grader.errors import GraderError
from tests import put
from tests.grader.engine.test_grade import copy_of_the_repository

LADDER = "04_cuda_kernels/unfold"
LINEAR = "04_cuda_kernels/linear"
LAB = 'language = "cuda"\n[ladder.unfold]\npoints = 4\ndtypes = ["f16"]\n'
# as matmul/12_half: it computes something in f16, and leaves all else
ALONE = """
[rung."unfold/{0}"]
covers = ["stride_1"]
numerics = "half"

[rung."unfold/{0}".traffic]
forward = {{ case = "small", global_sectors_per_request = 4.8 }}
"""
LAUNCH = "    const int64_t COUNT = tensor_numel(output);\n"
HANDS_ON = """    if (REAL_DTYPE != DTYPE_F16 || p.stride_h != 1) {
        return STATUS_UNSUPPORTED;
    }
"""
STORE = "    output[i] = inside ?"
BUGS = {  # what the values do not show -> verdict, check
    "01_right": ("", STORE, ("PASS", "")),
    "02_late": (  # right if thread 0 comes first
        """    __shared__ int64_t first;
    if (threadIdx.x == 0) first = 0;
""",
        "    output[first + i] = inside ?",
        ("RACE", "order"),
    ),
    "03_twice": (  # all threads write the same number
        """    __shared__ int64_t first;
    first = 0;
    __syncthreads();
""",
        "    output[first + i] = inside ?",
        ("RACE", "races"),
    ),
    "04_past": (  # reads past the end what nobody uses
        """    const real *end = real_data(&input) + tensor_numel(&input);
    if (i == 0) (void)*(volatile const unsigned short *)end;
""",
        STORE,
        ("MEMORY_ERROR", "memory"),
    ),
    "05_apart": (  # neighbouring threads walk along rows of the output
        """    const int64_t IN_ROW = COUNT / (OH * OW);
    i = i % IN_ROW * (OH * OW) + i / IN_ROW;
""",
        STORE,
        ("TRAFFIC", "traffic"),
    ),
}
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


def bug(right: str, before: str, store: str) -> str:
    """Forward of unfold for f16 and stride 1, with a bug in front of the work."""
    begin = "    const int64_t IC = input.size[1], IH = input.size[2]"
    changes = {
        "    const int64_t i = (int64_t)": "    int64_t i = (int64_t)",
        begin: before + begin,
        STORE: store,
        LAUNCH: LAUNCH + HANDS_ON,
    }
    text = right.partition("/* Which window reads")[0]
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def test_kernels_for_half_alone_are_looked_into_in_half(tools, tmp_path):
    made = copy_of_the_repository(tmp_path, tools)
    folder = made.root / "labs" / LADDER
    put(folder.parent / "lab.toml", LAB + "".join(map(ALONE.format, BUGS)))
    right = (ROOT / "labs" / LADDER / "00_gather.cu").read_text()
    put(folder / "00_gather.cu", right)
    for name, (before, store, _) in BUGS.items():
        (folder / f"{name}.cu").write_text(bug(right, before, store))
    done = made.run("grade", LADDER, NVCC="none", CI="", timeout=900)
    assert made.results_file.exists(), done
    found = {}
    for rung in made.task(LADDER)["rungs"][1:]:
        last = [c for c in rung["checks"] if c["direction"] == "forward"][-1]
        verdict = last["verdict"]
        word = "" if verdict == "PASS" else last["name"]
        found[Path(rung["file"]).stem] = verdict, word
        assert last["dtype"] == "f16", last
    assert found == {name: verdict for name, (_, _, verdict) in BUGS.items()}, done


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
        ("f16", ".cu", "'dtypes' is 'f16', expected ['f16']"),
        (["bf16"], ".cu", "'dtypes' is ['bf16'], expected ['f16']"),
        (["f16"], ".c", "but only files in CUDA may have the key"),
    ],
)
def test_strange_dtypes_are_refused(word, suffix, sentence):
    with pytest.raises(GraderError) as raised:
        dtypes("lab.toml: ladder.unfold", suffix, {"dtypes": word})
    assert str(raised.value).startswith("lab.toml: ladder.unfold: 'dtypes' is ")
    assert sentence in str(raised.value)


def test_the_reference_passes_in_half_above_a_rung_that_is_not_for_half(
    tools, tmp_path
):
    ladders = [task.id for task in all_tasks() if task.language == "cuda"]
    made = copy_of_the_repository(tmp_path, tools, *ladders)
    done = made.run("grade", LINEAR, NVCC="none", CI="", timeout=600)
    assert made.results_file.exists(), done
    _, *rungs = made.task(LINEAR)["rungs"]
    halves = [
        [
            (check["direction"], check["verdict"])
            for check in rung["checks"]
            if check["dtype"] == "f16" and check["name"] in ("half", "forward")
        ]
        for rung in rungs
    ]
    forward, backward = [("forward", "PASS")], [("backward", "PASS")]
    assert halves == [forward, backward, forward], done
